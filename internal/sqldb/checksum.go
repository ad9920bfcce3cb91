package sqldb

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
)

// A row of a checksummed table has a checksum of its columns in the column row_checksum. WithChecksums adds it to each
// statement that writes such a table, so no caller can forget it. The checksum is the exclusive or of a hash of each
// column with its name. So an UPDATE reads and hashes the columns that it writes alone, and damage of another column
// stays visible. An empty value (NULL, 0, false, an empty text or BLOB) has the hash 0: a new column with such a
// default leaves the checksums of earlier rows valid.

const checksumColumn = "row_checksum"

// ChecksumFunction is the SQL function behind checksums. On SQLite it is Checksum. On PostgreSQL it returns the hash of
// a column from its name and its value as text.
const ChecksumFunction = "loci_checksum"

// unsummed are the columns outside the checksum of their row: those that a repair computes from other rows, and
// references that the deletion of their row sets to NULL.
var unsummed = map[string][]string{
	"agents":       {"user_id", "key_id", "last_number"},
	"atlases":      {"memories", "bytes"},
	"attachments":  {"atlas"},
	"candidates":   {"workspace", "atlas", "user_id", "unit", "memory"},
	"compilations": {"memory"},
	"memories":     {"hash", "superseded_by", "supersedes", "attachments"},
	"messages":     {"thread_id"},
	"policies":     {"atlas"},
	"receipts":     {"workspace", "number"},
	"referrals":    {"invitee"},
	"sessions": {"memory", "candidates", "pending", "checkpoints", "units", "events", "audits", "compilations",
		"redactions", "steps", "has_texts"},
	"units": {"memory"},
}

// Checksum returns sum with the hashes of pairs of a name and a value of SQLite in it, or out of it if they are in it.
func Checksum(sum int64, pairs ...any) int64 {
	for i := 0; i+1 < len(pairs); i += 2 {
		name, _ := pairs[i].(string)
		sum ^= hashColumn(name, pairs[i+1])
	}
	return sum
}

func hashColumn(name string, value any) int64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	switch v := value.(type) {
	case int64:
		if v == 0 {
			return 0
		}
		h.Write(binary.LittleEndian.AppendUint64([]byte{'i'}, uint64(v)))
	case float64:
		h.Write(binary.LittleEndian.AppendUint64([]byte{'f'}, math.Float64bits(v)))
	case string:
		if v == "" {
			return 0
		}
		h.Write([]byte{'t'})
		h.Write([]byte(v))
	case []byte: // mattn gives NULL as an empty one
		if len(v) == 0 {
			return 0
		}
		h.Write([]byte{'b'})
		h.Write(v)
	default:
		return 0
	}
	return int64(h.Sum64())
}

// A ChecksumTable is a table whose rows have a checksum.
type ChecksumTable struct {
	Name    string
	Key     []string // the columns of its primary key
	ID      string   // the column that names a row for people, or ""
	columns []summedColumn
}

// A summedColumn is a column within the checksum, with its type in a migration.
type summedColumn struct{ name, kind string }

// ChecksumTables returns the tables whose rows have a checksum, by name.
var ChecksumTables = sync.OnceValue(func() map[string]*ChecksumTable { return checksumTables("") })

// checksumTables returns the tables with a checksum column after the migrations up to a file, or after all.
func checksumTables(last string) map[string]*ChecksumTable {
	all, summed := map[string]*ChecksumTable{}, map[string]*ChecksumTable{}
	files, _ := MigrationFiles.ReadDir("migrations") // it is embedded
	for _, f := range files {
		if last != "" && f.Name() > last {
			break
		}
		text, _ := MigrationFiles.ReadFile("migrations/" + f.Name())
		var t *ChecksumTable // that the line defines
		for line := range strings.Lines(string(text)) {
			definition := ""
			switch words := strings.Fields(line); {
			case strings.HasPrefix(line, "CREATE TABLE "):
				t = &ChecksumTable{Name: words[2]}
				all[t.Name] = t
			case strings.HasPrefix(line, "ALTER TABLE ") && words[3] == "ADD":
				t, definition = all[words[2]], strings.TrimSuffix(strings.Join(words[5:], " "), ";")
			case strings.HasPrefix(line, "\t") && t != nil:
				definition = strings.TrimSpace(line)
			case strings.TrimSpace(line) != "":
				t = nil
			}
			if definition != "" && t.add(definition) {
				summed[t.Name] = t
			}
		}
	}
	return summed
}

// add adds a part of the definition of a table, and reports whether that is its checksum.
func (t *ChecksumTable) add(definition string) (isChecksum bool) {
	name, rest, _ := strings.Cut(definition, " ")
	kind, _, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(rest), ","), " ")
	_, key, isKey := strings.Cut(definition, "PRIMARY KEY")
	switch {
	case name == "PRIMARY":
		key, _, _ = strings.Cut(strings.TrimLeft(key, " ("), ")")
		t.Key = strings.Split(key, ", ")
	case name == checksumColumn:
		return true
	case name == "UNIQUE" || name == "FOREIGN" || name == "--":
	case name == "row_id":
		t.Key = []string{name}
	default:
		if isKey {
			t.Key = []string{name}
		}
		if name == "id" {
			t.ID = name
		}
		if !slices.Contains(unsummed[t.Name], name) {
			t.columns = append(t.columns, summedColumn{name, kind})
		}
	}
	return false
}

// column returns a column within the checksum.
func (t *ChecksumTable) column(name string) (c summedColumn, is bool) {
	i := slices.IndexFunc(t.columns, func(c summedColumn) bool { return c.name == name })
	if i < 0 {
		return c, false
	}
	return t.columns[i], true
}

// A value is what a statement writes to a column.
type value struct {
	column     summedColumn
	expression string
}

// sumOf returns the expression of a checksum: sum with the hashes of expressions in it, or out of it.
func sumOf(d *Dialect, sum string, values []value) string {
	if !d.Postgres {
		for _, v := range values {
			sum += ", '" + v.column.name + "', " + v.expression
		}
		return ChecksumFunction + "(" + sum + ")"
	}
	for _, v := range values {
		text := "CAST(" + v.expression + " AS TEXT)"
		switch v.column.kind {
		case "BLOB":
			text = "encode(" + v.expression + ", 'hex')"
		case "REAL": // the text of a number depends on settings
			text = "encode(float8send(" + v.expression + "), 'hex')"
		}
		sum += " # " + ChecksumFunction + "('" + v.column.name + "', " + text + ")"
	}
	return sum
}

// cast gives an expression the type of the column to which a statement writes it.
func (c summedColumn) cast(d *Dialect, expression string) value {
	kind := c.kind
	if d.Postgres {
		kind = toPostgres.Replace(kind)
	} else if kind == "BIGINT" || kind == "BOOLEAN" {
		kind = "INTEGER"
	}
	return value{c, "CAST(" + expression + " AS " + kind + ")"}
}

// sum returns the expression of the checksum of a stored row.
func (t *ChecksumTable) sum(d *Dialect) string {
	var values []value
	for _, c := range t.columns {
		values = append(values, value{c, c.name})
	}
	return sumOf(d, "0", values)
}

// checksumUpdates returns statements that compute the checksums of all rows of tables.
func checksumUpdates(d *Dialect, tables map[string]*ChecksumTable) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		fmt.Fprintf(&b, "UPDATE %s SET %s = %s;\n", name, checksumColumn, tables[name].sum(d))
	}
	return b.String()
}

// ChecksumUpdates returns statements that compute the checksums of all rows. Tests run them after rows of their own.
func ChecksumUpdates(d *Dialect) string { return checksumUpdates(d, ChecksumTables()) }

// A DamagedRow is a row that does not match its checksum.
type DamagedRow struct {
	ID  string // "" in a table without ids
	Key string // the primary key, without hashes
}

// Check compares up to limit rows after a key with their checksums, in the order of the primary key. It returns those
// that have another one, and the key of the last row, which is nil after the last one of the table.
func (t *ChecksumTable) Check(tx *Tx, after []any, limit int) (damaged []DamagedRow, last []any, err error) {
	id := t.ID
	if id == "" {
		id = "''"
	}
	key := strings.Join(t.Key, ", ")
	q := "SELECT " + id + ", " + checksumColumn + " <> (" + t.sum(tx.Dialect) + "), " + key + " FROM " + t.Name
	if after != nil {
		places := make([]string, len(after))
		for i := range places {
			places[i] = fmt.Sprintf("?%d", i+2)
		}
		q += " WHERE (" + key + ") > (" + strings.Join(places, ", ") + ")"
	}
	rows := 0
	err = tx.Query(q+" ORDER BY "+key+" LIMIT ?1", append([]any{limit}, after...), func(r Row) error {
		var id string
		var isDamaged bool
		last = make([]any, len(t.Key))
		dest := []any{&id, &isDamaged}
		for i := range last {
			dest = append(dest, &last[i])
		}
		err := r.Scan(dest...)
		if rows++; isDamaged {
			damaged = append(damaged, DamagedRow{id, keyText(last)})
		}
		return err
	})
	if rows < limit {
		last = nil
	}
	return damaged, last, err
}

// keyText returns a key for people. A hash is none.
func keyText(key []any) string {
	var parts []string
	for _, k := range key {
		if _, isHash := k.([]byte); !isHash {
			parts = append(parts, fmt.Sprint(k))
		}
	}
	return strings.Join(parts, ", ")
}
