package sqldb

import (
	"crypto/md5"
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/cespare/xxhash/v2"

	"github.com/loci-memory/loci"
)

// A row of a checksummed table has a checksum of its columns in the column row_checksum. Rewrite adds it to each
// statement that writes such a table, so no caller can forget it. The checksum is the exclusive or of a hash of each
// column with its name. So an UPDATE reads and hashes the columns that it writes alone, and damage of another column
// stays visible. The hash finds damage; it is no proof against a person who writes the database.
//
// NULL in a nullable column, and the zero value in another one, have the hash 0: a new column with such a default
// leaves the checksums of earlier rows valid. The zero value of a text is its default.

const checksumColumn = "row_checksum"

// ChecksumFunction is the SQL function behind checksums. On SQLite it is Checksum. On PostgreSQL it returns the hash of
// a column from its name and its value as text.
const ChecksumFunction = "loci_checksum"

// unsummed are the columns of tables that are outside of checksums. A check computes each of them from rows with
// checksums.
var unsummed = map[string][]string{
	"agents":      {"last_number"},                   // messages to many raise those of all their recipients
	"atlases":     {"memories", "bytes"},             // flushes add the changes of the log
	"attachments": {"atlas"},                         // that of the memory, with which they move
	"candidates":  {"workspace", "atlas", "user_id"}, // those of the session
	"memories":    {"hash"},                          // of the content
	"receipts":    {"workspace"},                     // that of the message
}

// Checksum returns the exclusive or of two sums and of the hashes of values of SQLite. The text of columns has their
// table and their names. A sum that is no integer, which is damage, counts as 0.
func Checksum(sum any, more int64, columns string, values ...any) int64 {
	n, _ := sum.(int64)
	list := columnsOf(columns)
	for i, v := range values {
		more ^= list[i].hash(v)
	}
	return n ^ more
}

var columnLists sync.Map // of []*summedColumn by their text

func columnsOf(text string) (list []*summedColumn) {
	if known, has := columnLists.Load(text); has {
		return known.([]*summedColumn)
	}
	table, names, _ := strings.Cut(text, " ")
	for name := range strings.SplitSeq(names, " ") {
		list = append(list, ChecksumTables()[table].column(name))
	}
	columnLists.Store(text, list)
	return list
}

// A summedColumn is a column within the checksum.
type summedColumn struct {
	name     string
	kind     string // its type in a migration
	nullable bool
	empty    string // of a text: the default of rows without a value
	seed     uint64
}

// hash returns the hash of a value on SQLite. An empty BLOB is as NULL, because a driver gives both as []byte.
func (c *summedColumn) hash(value any) int64 {
	var n, kind uint64
	isZero := false
	switch v := value.(type) {
	case int64:
		n, kind, isZero = uint64(v), 1, v == 0 && c.isInteger()
	case bool:
		if isZero = !v && c.isInteger(); v {
			n = 1
		}
		kind = 1
	case float64:
		n, kind = math.Float64bits(v), 2
	case string:
		n, kind, isZero = xxhash.Sum64String(v), 3, v == c.empty && c.kind == "TEXT"
	case []byte:
		n, kind = xxhash.Sum64(v), 4
		if len(v) == 0 {
			return c.hash(nil)
		}
	case nil:
		kind, isZero = 5, c.kind == "BLOB"
		if c.nullable {
			return 0
		}
	}
	if isZero && !c.nullable {
		return 0
	}
	x := (n ^ c.seed) + kind*0x9e3779b97f4a7c15 // the finalizer of SplitMix64 (Steele et al. 2014)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return int64(x ^ x>>31)
}

func (c *summedColumn) isInteger() bool {
	return c.kind != "TEXT" && c.kind != "BLOB" && c.kind != "REAL"
}

// hashText returns the hash of a value on PostgreSQL, as its function computes it.
func (c *summedColumn) hashText(value any) int64 {
	text := ""
	switch v := value.(type) {
	case nil:
		return 0
	case []byte:
		if text = hex.EncodeToString(v); v == nil {
			return 0
		}
	case float64:
		text = fmt.Sprintf("%016x", math.Float64bits(v))
	default:
		text = fmt.Sprint(v)
	}
	if !c.nullable && text == c.zeroText() {
		return 0
	}
	sum := md5.Sum([]byte(c.name + ":" + text))
	return int64(binary.BigEndian.Uint64(sum[:]))
}

// zeroText returns the text of the zero value of the column on PostgreSQL.
func (c *summedColumn) zeroText() string {
	switch {
	case c.kind == "BOOLEAN":
		return "false"
	case c.isInteger():
		return "0"
	}
	return c.empty
}

// hashOf returns the hash of an argument for the column.
func (c *summedColumn) hashOf(d *Dialect, arg any) (int64, error) {
	switch a := arg.(type) { // those of most columns, without reflection
	case string, int64, bool, nil, []byte:
	case int:
		arg = int64(a)
	case loci.Time:
		arg = int64(a)
	default:
		v, err := driver.DefaultParameterConverter.ConvertValue(arg)
		if arg = v; err != nil {
			return 0, err
		}
	}
	if n, isInteger := arg.(int64); isInteger && c.kind == "REAL" {
		arg = float64(n)
	}
	if d.Postgres {
		return c.hashText(arg), nil
	}
	return c.hash(arg), nil
}

// column returns a column within the checksum, or nil.
func (t *Table) column(name string) *summedColumn {
	i := slices.IndexFunc(t.columns, func(c *summedColumn) bool { return c.name == name })
	if i < 0 {
		return nil
	}
	return t.columns[i]
}

// A value is what a statement writes to a column.
type value struct {
	column     *summedColumn
	expression string
}

// sumOf returns the expression of a checksum: two sums with the hashes of expressions in them, or out of them.
func (t *Table) sumOf(d *Dialect, sum, more string, values []value) string {
	if len(values) == 0 && sum == "0" {
		return more
	}
	if !d.Postgres {
		names, expressions := t.Name, ""
		for _, v := range values {
			names += " " + v.column.name
			expressions += ", " + v.expression
		}
		return ChecksumFunction + "(" + sum + ", " + more + ", '" + names + "'" + expressions + ")"
	}
	sum += " # " + more
	for _, v := range values {
		expression := v.expression
		if !v.column.nullable && v.column.kind != "REAL" {
			zero := "'" + v.column.zeroText() + "'"
			expression = "NULLIF(" + expression + ", " + zero + ")"
		}
		text := "CAST(" + expression + " AS TEXT)"
		switch v.column.kind {
		case "BLOB":
			text = "encode(" + expression + ", 'hex')"
		case "REAL": // the text of a number depends on settings
			text = "encode(float8send(" + expression + "), 'hex')"
		}
		sum += " # " + ChecksumFunction + "('" + v.column.name + "', " + text + ")"
	}
	return sum
}

// cast gives an expression the type of the column to which a statement writes it.
func (c *summedColumn) cast(d *Dialect, expression string) value {
	kind := c.kind
	if d.Postgres {
		kind = toPostgres.Replace(kind)
	} else if kind == "BIGINT" || kind == "BOOLEAN" {
		kind = "INTEGER"
	}
	return value{c, "CAST(" + expression + " AS " + kind + ")"}
}

// sum returns the expression of the checksum of a stored row. The prefix of its columns is an alias with a point, or
// empty.
func (t *Table) sum(d *Dialect, prefix string) string {
	var values []value
	for _, c := range t.columns {
		values = append(values, value{c, prefix + c.name})
	}
	return t.sumOf(d, "0", "0", values)
}

// DamageCondition returns the condition of a row of an alias that does not match its checksum.
func (t *Table) DamageCondition(d *Dialect, alias string) string {
	if !t.isSummed {
		return " FALSE "
	}
	return " (" + alias + "." + checksumColumn + " IS DISTINCT FROM (" + t.sum(d, alias+".") + ")) "
}

// checksumUpdates returns statements that compute the checksums of all rows of tables.
func checksumUpdates(d *Dialect, tables map[string]*Table) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		fmt.Fprintf(&b, "UPDATE %s SET %s = %s;\n", name, checksumColumn, tables[name].sum(d, ""))
	}
	return b.String()
}

// ChecksumUpdates returns statements that compute the checksums of all rows. Tests run them after rows of their own.
func ChecksumUpdates(d *Dialect) string { return checksumUpdates(d, ChecksumTables()) }
