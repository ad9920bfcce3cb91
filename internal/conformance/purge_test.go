package conformance_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/grantdb"
	"github.com/loci-memory/loci/internal/store/jobdb"
	"github.com/loci-memory/loci/internal/store/pairdb"
	"github.com/loci-memory/loci/internal/store/purge"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// keptTables keep rows when all users and workspaces are purged, for these reasons.
var keptTables = map[string]string{
	"metadata":      "the settings of the database",
	"model_usage":   "numbers of tokens by day",
	"generations":   "the names of models",
	"jobs":          "ids of records, deleted when the job is done",
	"oauth_clients": "programs, which belong to no user",
	"rate_limits":   "times by the id of a credential, deleted within minutes",
}

// Names of a database's tables, and of the columns "table.column" that hold the row id of a memory.
const (
	sqliteTables = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
		AND name NOT LIKE 'goose%'`
	postgresTables = `SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()
		AND table_name NOT LIKE 'goose%'`
	sqliteMemoryColumns = `SELECT t.name || '.' || c.name FROM sqlite_schema t, pragma_table_info(t.name) c
		WHERE t.type = 'table' AND (c.name = 'memory' OR EXISTS (SELECT 1 FROM pragma_foreign_key_list(t.name) f
		WHERE f."table" = 'memories' AND f."from" = c.name))`
	postgresMemoryColumns = `SELECT table_name || '.' || column_name FROM information_schema.columns
		WHERE table_schema = current_schema() AND column_name = 'memory'
		UNION SELECT t.relname || '.' || a.attname FROM pg_constraint k JOIN pg_class t ON t.oid = k.conrelid
		JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = ANY (k.conkey)
		WHERE k.contype = 'f' AND k.confrelid = 'memories'::regclass
		AND t.relnamespace = current_schema()::regnamespace`
)

// fillTables returns a world in which every table has rows, and a memory with rows in all tables that name memories.
func fillTables(t *testing.T, d storetest.Database) (w *conformance.World, memory loci.ID) {
	embedder := &storetest.FakeEmbedder{Name: "fake/1"}
	w = conformance.New(t, d.Open, conformance.Options{Embedder: embedder, SendMail: withMail.SendMail})
	for _, o := range service.Ops.Ops {
		if f := fixtureOf(t, o.Name); !f.empty && !f.alone {
			c := w.Call(ownerOf(o))
			c.IdempotencyKey = o.Name
			in := testenv.Must(json.Marshal(f.args(testScene{w, t})))(t)
			if _, err := w.Host.Call(t.Context(), o, c, op.Args{JSON: in}); err != nil {
				t.Fatalf("%s: %v", o.Name, err)
			}
		}
	}
	memory = w.Memory(t, w.Atlas(t, "Shelf"), "the harbour closes at nine")
	linkSessions(t, w, memory)
	testenv.Must(w.Service.UploadAttachment(t.Context(), w.Ann.Actor(), loci.UploadAttachment{MemoryID: memory,
		FileName: "chart", MIMEType: "text/plain"}))(t)
	w.WaitForEmbeddings(t)
	testenv.NoError(t, w.Store.Flush(t.Context(), w.Team))
	embedder.RejectTexts("*")
	testenv.Must(w.Service.AppendMemory(t.Context(), w.Ann.Actor(), loci.AppendMemory{MemoryID: memory,
		Content: "It opens at six."}))(t)
	signIn := storetest.SignIn(t, w.Store, w.Ann.ID)
	testenv.Must(store.System(t.Context(), w.Store, "test", func(x *store.SystemTx) (loci.Empty, error) {
		if _, _, err := x.ChargeCalls(w.Ann.KeyID, accountdb.Rate{Interval: time.Hour}, time.Now(), 1); err != nil {
			return loci.Empty{}, err
		}
		consent, _ := storetest.Consent(w.Ann.ID, signIn, "editor", w.Team)
		if _, err := x.Grants().AddCode(consent); err != nil {
			return loci.Empty{}, err
		}
		if err := x.Grants().AddClient(grantdb.Client{ID: "editor"}); err != nil {
			return loci.Empty{}, err
		}
		if _, err := x.AddToken(w.Ann.ID, accountdb.ResetToken, []byte("a link")); err != nil {
			return loci.Empty{}, err
		}
		_, _, err := x.ReserveOperations(w.Ann.ID, "2026-11", 1, 10)
		return loci.Empty{}, err
	}))(t)
	testenv.Must(sqldb.System(t.Context(), w.Store.DB(), "test", func(x *sqldb.Tx) (loci.Empty, error) {
		if _, err := x.Exec(`INSERT INTO model_usage (day, tokens) VALUES (1, 1)`); err != nil {
			return loci.Empty{}, err
		}
		return loci.Empty{}, jobdb.New(w.Store.DB()).Add(x, "test", string(w.Ann.ID))
	}))(t)
	testenv.NoError(t, pairdb.New(w.Store.DB(), w.Ann.ID, "account").Save(t.Context(), &pairdb.Pair{}))
	return w, memory
}

// linkSessions links a memory from all parts of a session that name memories.
func linkSessions(t *testing.T, w *conformance.World, memory loci.ID) {
	t.Helper()
	s := testScene{w, t}
	session, unit := s.unit()
	testenv.Must(w.Service.RecordCompilation(t.Context(), w.Ann.Actor(), loci.RecordCompilation{SessionID: session,
		UnitKey: "rope", Compiler: "bridge", Outcome: loci.CompilationCreated, MemoryID: memory}))(t)
	_, candidate := s.candidate()
	_, replacing := s.candidate()
	testenv.Must(sqldb.System(t.Context(), w.Store.DB(), "test", func(x *sqldb.Tx) (loci.Empty, error) {
		if _, err := x.Exec(`UPDATE candidates SET replaces = (SELECT e.row_id FROM memories e WHERE e.id = ?2)
			WHERE id = ?1`, replacing, memory); err != nil {
			return loci.Empty{}, err
		}
		for table, id := range map[string]loci.ID{"sessions": session, "units": unit, "candidates": candidate} {
			if _, err := x.Exec(`UPDATE `+table+` SET memory = (SELECT e.row_id FROM memories e WHERE e.id = ?2)
				WHERE id = ?1`, id, memory); err != nil {
				return loci.Empty{}, err
			}
		}
		return loci.Empty{}, nil
	}))(t)
}

// A table that a purge misses fails this test: a new one needs a row of its own, and is then to be empty at the end.
func TestPurgesReachEveryTable(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		w, memory := fillTables(t, d)
		tables, columns := sqliteTables, sqliteMemoryColumns
		if d.Dir == "" {
			tables, columns = postgresTables, postgresMemoryColumns
		}
		list := d.Query(t, tables)
		for _, table := range list {
			if d.Query(t, `SELECT CAST(count(*) AS TEXT) FROM `+table)[0] == "0" {
				t.Errorf("%s is empty before a purge: let fillTables write a row", table)
			}
		}
		rowID := d.Query(t, `SELECT CAST(row_id AS TEXT) FROM memories WHERE id = '`+string(memory)+`'`)[0]
		named := func() (found []string) {
			for _, name := range d.Query(t, columns) {
				table, column, _ := strings.Cut(name, ".")
				if d.Query(t, `SELECT CAST(count(*) AS TEXT) FROM `+table+` WHERE `+column+` = `+rowID)[0] != "0" {
					found = append(found, name)
				}
			}
			return found
		}
		testenv.Len(t, named(), len(d.Query(t, columns)), "only",
			"name the memory before a purge: let fillTables write the others")
		testenv.Must(purge.New(w.Store).PurgeMemory(t.Context(), memory, true))(t)
		if after := named(); len(after) > 0 {
			t.Errorf("%v still name a purged memory", after)
		}
		for _, id := range d.Query(t, `SELECT id FROM workspaces WHERE personal_of IS NULL`) {
			testenv.Must(purge.New(w.Store).PurgeWorkspace(t.Context(), loci.ID(id), true))(t)
		}
		for _, email := range d.Query(t, `SELECT email FROM users`) {
			testenv.Must(purge.New(w.Store).PurgeUser(t.Context(), loci.Email(email), true))(t)
		}
		for _, table := range list {
			if n := d.Query(t, `SELECT CAST(count(*) AS TEXT) FROM `+table)[0]; n != "0" && keptTables[table] == "" {
				t.Errorf("%s has %s rows after a purge of all users and workspaces", table, n)
			}
		}
		if len(list) < len(keptTables) || !slices.Contains(list, "memories") {
			t.Errorf("the tables are %v", list)
		}
	})
}
