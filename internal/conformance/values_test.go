package conformance_test

import (
	"cmp"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/integrity"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// otherValue returns another value of a column of PostgreSQL.
var otherValue = map[string]string{"text": "coalesce(%, '') || 'x'", "bigint": "coalesce(%, 0) + 1000003",
	"integer": "coalesce(%, 0) + 1000003", "boolean": "NOT coalesce(%, FALSE)",
	"double precision": "coalesce(%, 0) + 1000003",
	"bytea":            `coalesce(%, '') || '\x01'`}

// keptRows are the conditions of the rows that no job erases: what is derived of those others is not compared.
var keptRows = map[string]string{"atlases": keptAtlas, "memories": "atlas" + inKeptAtlas, "sessions": keptSession,
	"candidates":  "session IN (SELECT row_id FROM sessions WHERE " + keptSession + ")",
	"attachments": "memory IN (SELECT row_id FROM memories WHERE atlas" + inKeptAtlas + ")",
	"messages":    keptAtlas, "receipts": keptAtlas}

const (
	keptAtlas   = "workspace IN (SELECT workspace FROM members)"
	inKeptAtlas = " IN (SELECT row_id FROM atlases WHERE " + keptAtlas + ")"
	keptSession = keptAtlas + " AND atlas" + inKeptAtlas
)

// dropReferences lets PostgreSQL take every value, and every deletion.
const dropReferences = `DO $$ DECLARE r RECORD; BEGIN
	FOR r IN SELECT conrelid::regclass AS name, conname FROM pg_constraint WHERE contype = 'f'
		AND connamespace = current_schema()::regnamespace
	LOOP EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', r.name, r.conname); END LOOP;
END $$`

// A value that changes in a row of a source table of PostgreSQL is found. The numbers of an agent and of the steps of a
// session may be ahead, and are left out.
func TestChangedValuesAreFound(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		if d.Address == "" {
			return // TestFlippedBitsAreFoundOrHarmless
		}
		w, _ := fillTables(t, d)
		check := func() int64 {
			return testenv.Must(integrity.New(w.Store).Check(t.Context(), integrity.Options{}))(t).Found
		}
		before := check()
		d.Exec(t, dropReferences)
		columns := d.Query(t, `SELECT table_name || ' ' || column_name || ' ' || data_type FROM information_schema.columns
			WHERE table_schema = current_schema() AND is_identity = 'NO' ORDER BY table_name, ordinal_position`)
		tried := 0
		for _, words := range columns {
			table, rest, _ := strings.Cut(words, " ")
			column, kind, _ := strings.Cut(rest, " ")
			if c, known := integrity.Tables[table]; !known || c.Class != integrity.Source ||
				words == "agents last_number bigint" || words == "sessions steps bigint" ||
				!testenv.Whole() && rand.N(5) > 0 {
				continue
			}
			tried++
			value := strings.ReplaceAll(otherValue[kind], "%", column)
			rows := " FROM " + table + " WHERE " + cmp.Or(keptRows[table], "TRUE") + " ORDER BY row_checksum LIMIT 1"
			former := d.Query(t, "SELECT quote_nullable("+column+")"+rows)
			if len(former) == 0 {
				t.Errorf("%s has no row", table)
				continue
			}
			place := d.Query(t, "SELECT CAST(ctid AS TEXT)"+rows)[0]
			write := func(value string) {
				place = d.Query(t, "UPDATE "+table+" SET "+column+" = "+value+" WHERE ctid = '"+place+
					"' RETURNING CAST(ctid AS TEXT)")[0]
			}
			write(value)
			if check() == before {
				t.Errorf("%s.%s has another value, and a check finds nothing", table, column)
			}
			write(former[0])
		}
		testenv.Equal(t, check(), before, "found after the values are the former ones")
		if tried < 10 {
			t.Errorf("only %d columns were tried", tried)
		}
	})
}

// Damaged rows of every table are accepted as they are, and no finding remains.
func TestDamagedRowsAreAccepted(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		w, _ := fillTables(t, d)
		check := func(o integrity.Options) integrity.Report {
			return testenv.Must(integrity.New(w.Store).Check(t.Context(), o))(t)
		}
		before := check(integrity.Options{}).Found
		for table := range sqldb.ChecksumTables() {
			if integrity.Tables[table].Class == integrity.Source {
				d.Exec(t, "UPDATE "+table+" SET row_checksum = ~row_checksum")
			}
		}
		o := integrity.Options{Repair: true}
		for _, f := range check(integrity.Options{}).Inconsistencies {
			o.Accept = append(o.Accept, f.ID)
		}
		if r := check(o); r.Repaired < 50 {
			t.Errorf("only %d rows were accepted", r.Repaired)
		}
		testenv.Equal(t, check(integrity.Options{}).Found, before)
	})
}
