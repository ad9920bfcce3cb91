package sqldb

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/cespare/xxhash/v2"
)

// A Table is a table of the schema, as the migrations make it.
type Table struct {
	Name       string
	Key        []string // the columns of its primary key
	ID         string   // the expression of the id of a row, or of the record that it belongs to, or "''"
	References []Reference

	columns  []*summedColumn
	isSummed bool
	cleared  []clearedReference // to its rows
}

// A Reference is a foreign key.
type Reference struct {
	Columns []string
	Table   string   // of the row to which it refers
	Key     []string // columns there
}

// A clearedReference is a column that the deletion of the row to which it refers by its key sets to NULL.
type clearedReference struct{ table, column, key string }

// Tables returns the tables that the migrations make, by name. The schema of a database may hold foreign ones too.
var Tables = sync.OnceValue(func() map[string]*Table { return readTables(MigrationFiles, "") })

// TablesOf returns the tables of a database with an earlier schema, by name.
func TablesOf(schema int64) map[string]*Table {
	return readTables(MigrationFiles, fmt.Sprintf("%05d~", schema)) // after the name of its last migration
}

// HasChecksums reports whether the rows of the table have checksums.
func (t *Table) HasChecksums() bool { return t.isSummed }

// ChecksumTables returns the tables whose rows have a checksum, by name.
var ChecksumTables = sync.OnceValue(func() map[string]*Table { return summedTables(Tables()) })

func summedTables(all map[string]*Table) map[string]*Table {
	summed := maps.Clone(all)
	maps.DeleteFunc(summed, func(_ string, t *Table) bool { return !t.isSummed })
	return summed
}

// TableNames returns the names of all tables, in order.
func TableNames() []string { return slices.Sorted(maps.Keys(Tables())) }

// readTables returns the tables after the migrations up to a file, or after all. It reads lines, because a regular
// expression takes ten times as long, at every start.
func readTables(migrations fs.FS, last string) map[string]*Table {
	all := map[string]*Table{}
	files, _ := fs.ReadDir(migrations, "migrations") // TestTablesAreThoseOfTheSchema reads them
	for _, f := range files {
		if last != "" && f.Name() > last {
			break
		}
		text, _ := fs.ReadFile(migrations, "migrations/"+f.Name())
		var t *Table // that the line defines
		for line := range strings.Lines(string(text)) {
			words := strings.Fields(strings.TrimRight(line, ";\n"))
			switch {
			case strings.HasPrefix(line, "CREATE TABLE "):
				t = &Table{Name: words[2], ID: "''"}
				all[t.Name] = t
			case strings.HasPrefix(line, "DROP TABLE "):
				delete(all, words[2])
			case strings.HasPrefix(line, "ALTER TABLE "):
				alter(all, words[2], words[3:])
			case strings.HasPrefix(line, "\t") && t != nil:
				t.add(strings.TrimSpace(line), all)
			case len(words) > 0:
				t = nil
			}
		}
	}
	return all
}

// alter changes a table by the words after its name.
func alter(all map[string]*Table, name string, words []string) {
	t := all[name]
	switch words[0] {
	case "ADD":
		t.add(strings.Join(words[2:], " "), all)
	case "DROP":
		t.columns = slices.DeleteFunc(t.columns, func(c *summedColumn) bool { return c.name == words[2] })
	case "RENAME":
		delete(all, name)
		t.Name = words[2]
		all[t.Name] = t
	}
}

// add adds a part of the definition of a table.
func (t *Table) add(definition string, all map[string]*Table) {
	name, rest, _ := strings.Cut(definition, " ")
	kind, _, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(rest), ","), " ")
	_, key, isKey := strings.Cut(definition, "PRIMARY KEY")
	switch {
	case name == "PRIMARY":
		t.Key = list(key)
	case name == checksumColumn:
		t.isSummed = true
	case name == "FOREIGN":
		t.refer(list(rest), rest, all)
	case name == "UNIQUE" || name == "--":
	case name == "row_id":
		t.Key = []string{name}
	default:
		if isKey {
			t.Key = []string{name}
		}
		if name == "id" {
			t.ID = name
		}
		t.refer([]string{name}, rest, all)
		if !slices.Contains(unsummed[t.Name], name) {
			_, empty, _ := strings.Cut(rest, "DEFAULT '")
			empty, _, _ = strings.Cut(empty, "'")
			t.columns = append(t.columns, &summedColumn{name, kind, !strings.Contains(rest, "NOT NULL"), empty,
				xxhash.Sum64String(name)})
		}
	}
}

// list returns the names in the first parentheses of a text.
func list(text string) []string {
	_, text, _ = strings.Cut(text, "(")
	text, _, _ = strings.Cut(text, ")")
	return strings.Split(text, ", ")
}

// refer adds the reference of columns, if their definition has one. The deletion of the row clears single columns
// alone.
func (t *Table) refer(columns []string, definition string, all map[string]*Table) {
	_, to, refers := strings.Cut(definition, "REFERENCES ")
	if !refers {
		return
	}
	r := Reference{columns, strings.Fields(to)[0], list(to)}
	t.References = append(t.References, r)
	if t.ID == "''" && len(columns) == 1 && all[r.Table].ID == "id" {
		t.ID = fmt.Sprintf("COALESCE((SELECT p.id FROM %s p WHERE p.%s = %s.%s), '')", r.Table, r.Key[0], t.Name,
			columns[0])
	}
	if strings.Contains(to, ") ON DELETE SET NULL") {
		all[r.Table].cleared = append(all[r.Table].cleared, clearedReference{t.Name, columns[0], r.Key[0]})
	}
}

// A WrongRow is a row that does not match its checksum, or refers to one that is not there.
type WrongRow struct {
	ID        string // "" in a table without ids
	Key       string // the primary key, without hashes
	IsDamaged bool
	Lost      []LostRow

	key []any
}

// A LostRow is one that another row refers to, and that is not there.
type LostRow struct{ Table, Key string }

// Check compares up to limit rows after a key with their checksums, and looks for the rows to which they refer. It
// takes them in the order of the primary key. It returns the wrong ones, and the key of the last row, which is nil
// after the last one of the table.
func (t *Table) Check(tx *Tx, after []any, limit int) (wrong []WrongRow, last []any, err error) {
	key := strings.Join(t.Key, ", ")
	q := "SELECT " + t.ID + "," + t.DamageCondition(tx.Dialect, t.Name)
	for _, r := range t.References {
		q += ", " + t.lostKey(r)
	}
	q += ", " + key + " FROM " + t.Name
	if after != nil {
		q += " WHERE " + t.compareKey(">", 2)
	}
	rows := 0
	err = tx.Query(q+" ORDER BY "+key+" LIMIT ?1", append([]any{limit}, after...), func(r Row) error {
		var w WrongRow
		values := make([]any, len(t.References)+len(t.Key))
		dest := []any{&w.ID, &w.IsDamaged}
		for i := range values {
			dest = append(dest, &values[i])
		}
		err := r.Scan(dest...)
		lost := values[:len(t.References)]
		last = values[len(lost):]
		for i, key := range lost {
			if key != nil {
				w.Lost = append(w.Lost, LostRow{t.References[i].Table, fmt.Sprint(key)})
			}
		}
		if rows++; w.IsDamaged || len(w.Lost) > 0 {
			w.Key, w.key = keyText(last), last
			wrong = append(wrong, w)
		}
		return err
	})
	if rows < limit {
		last = nil
	}
	return wrong, last, err
}

// DeleteOrphan deletes a wrong row, if a row to which it refers is still not there.
func (t *Table) DeleteOrphan(tx *Tx, row WrongRow) error {
	lost := make([]string, len(t.References))
	for i, r := range t.References {
		lost[i] = t.lostKey(r)
	}
	_, err := tx.Exec("DELETE FROM "+t.Name+" WHERE "+t.compareKey("=", 1)+
		" AND COALESCE("+strings.Join(lost, ", ")+", NULL) IS NOT NULL", row.key...)
	return err
}

// Accept gives a damaged row the checksum of the values that it has.
func (t *Table) Accept(tx *Tx, row WrongRow) error {
	_, err := tx.Exec("UPDATE "+t.Name+" SET "+checksumColumn+" = "+t.sum(tx.Dialect, "")+" WHERE "+
		t.compareKey("=", 1), row.key...)
	return err
}

// compareKey returns the condition that compares the key of a row with the arguments from a place on.
func (t *Table) compareKey(operator string, place int) string {
	places := make([]string, len(t.Key))
	for i := range places {
		places[i] = fmt.Sprintf("?%d", place+i)
	}
	return "(" + strings.Join(t.Key, ", ") + ") " + operator + " (" + strings.Join(places, ", ") + ")"
}

// lostKey returns the expression of the key of a row that is not there, or NULL. An id may be missing in the index
// alone, so the table is searched too.
func (t *Table) lostKey(r Reference) string {
	var texts, equal []string
	for i, column := range r.Columns {
		texts = append(texts, "CAST("+t.Name+"."+column+" AS TEXT)")
		equal = append(equal, "lost."+r.Key[i]+" = "+t.Name+"."+column)
	}
	key := strings.Join(texts, " || ', ' || ") // NULL if one of them is
	missing := " NOT EXISTS (SELECT 1 FROM " + r.Table + " lost WHERE " + strings.Join(equal, " AND ") + ") "
	if slices.Equal(r.Key, []string{"id"}) {
		missing += "AND " + t.Name + "." + r.Columns[0] + " NOT IN (SELECT NULLIF(lost.id, NULL) FROM " + r.Table +
			" lost) "
	}
	return "CASE WHEN" + missing + "THEN " + key + " END"
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
