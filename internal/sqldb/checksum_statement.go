package sqldb

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Statement is a statement of this program as it is sent to a database. It writes the checksums of the rows that it
// writes too.
type Statement struct {
	Text   string
	Before []string // statements with the same arguments, which clear references to the rows that this one deletes
	sums   []boundSum
}

// A boundSum is a sum of hashes of literals and of arguments, which is a further argument.
type boundSum struct {
	literals int64
	args     []boundColumn
}

// A boundColumn is a column that has an argument as its value.
type boundColumn struct {
	column *summedColumn
	place  int // of the argument
}

// Rewrite returns a statement with checksums. It reads the SQL of this program: INSERT INTO table (columns) VALUES or
// SELECT, with ON CONFLICT, UPDATE table SET column = expression, and DELETE FROM table WHERE.
func Rewrite(q string, d *Dialect) (*Statement, error) {
	s := statement{Statement: Statement{Text: q}, dialect: d, tokens: tokenize(q)}
	i := slices.IndexFunc(s.tokens, func(t token) bool {
		return t.text == "INSERT" || t.text == "UPDATE" || t.text == "DELETE"
	})
	if i < 0 || i+2 >= len(s.tokens) {
		return &s.Statement, nil
	}
	verb, name := s.tokens[i].text, i+1
	if verb != "UPDATE" {
		name++ // INTO or FROM
	}
	if s.table = ChecksumTables()[s.tokens[name].text]; s.table == nil {
		return &s.Statement, nil
	}
	var err error
	switch verb {
	case "INSERT":
		err = s.insert(name + 1)
	case "UPDATE":
		err = s.update(name + 1)
	default:
		s.delete(name)
	}
	if err != nil {
		return nil, fmt.Errorf("sqldb: add checksums to %q: %w", q, err)
	}
	s.Text = s.result()
	return &s.Statement, nil
}

// AddSums calls add with each further argument. The function arg returns the argument at a place.
func (s *Statement) AddSums(d *Dialect, arg func(i int) any, add func(sum int64)) error {
	for _, b := range s.sums {
		sum := b.literals
		for _, c := range b.args {
			h, err := c.column.hashOf(d, arg(c.place))
			if err != nil {
				return fmt.Errorf("sqldb: argument %d: %w", c.place+1, err)
			}
			sum ^= h
		}
		add(sum)
	}
	return nil
}

// A token is a word, a text in quotes, a group in parentheses, or another character.
type token struct {
	text       string
	start, end int // its place in the statement
}

// tokenize splits SQL into tokens. A group in parentheses is one.
func tokenize(q string) (tokens []token) {
	isWord := func(c byte) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_.?$", c) >= 0
	}
	for i := 0; i < len(q); {
		start := i
		switch c := q[i]; {
		case strings.IndexByte(" \t\n", c) >= 0:
			i++
			continue
		case c == '\'':
			i = endOfText(q, i)
		case c == '(':
			i = endOfGroup(q, i)
		case isWord(c):
			for i < len(q) && isWord(q[i]) {
				i++
			}
		default:
			i++
		}
		tokens = append(tokens, token{q[start:i], start, i})
	}
	return tokens
}

// endOfText returns the place after the quoted text that begins at i.
func endOfText(q string, i int) int {
	if end := strings.IndexByte(q[i+1:], '\''); end >= 0 {
		return i + 1 + end + 1
	}
	return len(q)
}

// endOfGroup returns the place after the group that begins at i.
func endOfGroup(q string, i int) int {
	for depth := 0; i < len(q); {
		switch q[i] {
		case '\'':
			i = endOfText(q, i)
			continue
		case '(':
			depth++
		case ')':
			depth--
		}
		if i++; depth == 0 {
			return i
		}
	}
	return len(q)
}

// A statement is one that gets checksums.
type statement struct {
	Statement
	dialect *Dialect
	table   *Table
	tokens  []token
	added   []token // texts to insert, at the places start, ascending
}

func (s *statement) add(at int, text string) { s.added = append(s.added, token{text, at, at}) }

func (s *statement) result() string {
	var b strings.Builder
	done := 0
	for _, a := range s.added {
		b.WriteString(s.Text[done:a.start])
		b.WriteString(a.text)
		done = a.start
	}
	b.WriteString(s.Text[done:])
	return b.String()
}

// bind adds the argument of a sum, and returns its placeholder. Without hashes it adds none.
func (s *statement) bind(b boundSum) string {
	if b.literals == 0 && len(b.args) == 0 {
		return "0"
	}
	last := 0
	for i := range s.Text {
		last = max(last, placeAt(s.Text[i:]))
	}
	s.sums = append(s.sums, b)
	place := fmt.Sprintf("?%d", last+len(s.sums))
	if s.dialect.Postgres {
		return "CAST(" + place + " AS BIGINT)"
	}
	return place
}

// placeAt returns the number of the placeholder with which a text begins, or 0.
func placeAt(text string) (n int) {
	if !strings.HasPrefix(text, "?") {
		return 0
	}
	for _, c := range text[1:] {
		if c < '0' || c > '9' {
			break
		}
		n = 10*n + int(c-'0')
	}
	return n
}

// split adds the hash of an expression that is an argument or a literal to b. It returns other expressions.
func (s *statement) split(b *boundSum, c *summedColumn, expression string) (computed []value) {
	plain := expression
	if inner, isCast := strings.CutPrefix(plain, "CAST("); isCast && endOfGroup(plain, 4) == len(plain) {
		plain, _, _ = strings.Cut(inner, " AS ")
	}
	if n := placeAt(plain); n > 0 && plain == fmt.Sprintf("?%d", n) {
		b.args = append(b.args, boundColumn{c, n - 1})
		return nil
	}
	literal, is := literalOf(plain)
	if !is {
		return []value{c.cast(s.dialect, expression)}
	}
	h, err := c.hashOf(s.dialect, literal)
	if err != nil {
		return []value{c.cast(s.dialect, expression)}
	}
	b.literals ^= h
	return nil
}

// literalOf returns the value of a literal.
func literalOf(expression string) (value any, is bool) {
	switch expression {
	case "NULL":
		return nil, true
	case "TRUE", "FALSE":
		return expression == "TRUE", true
	}
	if n, err := strconv.ParseInt(expression, 10, 64); err == nil {
		return n, true
	}
	text, isText := strings.CutPrefix(expression, "'")
	text, closed := strings.CutSuffix(text, "'")
	return text, isText && closed && !strings.Contains(text, "'")
}

// find returns the place of the first token from i that is one of words, or the end.
func (s *statement) find(i int, words ...string) int {
	for i < len(s.tokens) && !slices.Contains(words, s.tokens[i].text) {
		i++
	}
	return i
}

// list returns the texts between commas among the tokens from i to end.
func (s *statement) list(i, end int) (parts []string) {
	for i < end {
		next := min(s.find(i, ","), end)
		parts = append(parts, s.Text[s.tokens[i].start:s.tokens[next-1].end])
		i = next + 1
	}
	return parts
}

// group returns the texts between commas in a group.
func group(text string) []string {
	inner := strings.TrimSuffix(strings.TrimPrefix(text, "("), ")")
	s := statement{Statement: Statement{Text: inner}, tokens: tokenize(inner)}
	return s.list(0, len(s.tokens))
}

// insert adds the checksum to the column list at i, to the values after it and to the update after a conflict.
func (s *statement) insert(i int) error {
	if i >= len(s.tokens) || s.tokens[i].text[0] != '(' {
		return fmt.Errorf("it lists no columns")
	}
	columns := group(s.tokens[i].text)
	s.add(s.tokens[i].end-1, ", "+checksumColumn)
	conflict := s.find(i, "ON", "RETURNING")
	if i++; i >= len(s.tokens) {
		return fmt.Errorf("it has no VALUES and no SELECT")
	}
	switch s.tokens[i].text {
	case "VALUES":
		for i++; i < conflict; i += 2 {
			if err := s.addSum(columns, group(s.tokens[i].text), s.tokens[i].end-1); err != nil {
				return err
			}
		}
	case "SELECT":
		if s.find(i, "DISTINCT", "UNION") < len(s.tokens) {
			return fmt.Errorf("it selects by DISTINCT or UNION")
		}
		end := min(s.find(i, "FROM", "WHERE"), conflict)
		if err := s.addSum(columns, s.list(i+1, end), s.tokens[end-1].end); err != nil {
			return err
		}
	default:
		return fmt.Errorf("it has no VALUES and no SELECT")
	}
	if set := s.find(conflict, "SET"); set < len(s.tokens) {
		return s.assign(set+1, s.table.Name)
	}
	return nil
}

// addSum adds the checksum of a new row at a place of the text.
func (s *statement) addSum(columns, expressions []string, at int) error {
	if len(columns) != len(expressions) {
		return fmt.Errorf("it has %d columns and %d values", len(columns), len(expressions))
	}
	var bound boundSum
	var values []value
	for i, name := range columns {
		if c := s.table.column(name); c != nil {
			values = append(values, s.split(&bound, c, expressions[i])...)
		}
	}
	s.add(at, ", "+s.table.sumOf(s.dialect, "0", s.bind(bound), values))
	return nil
}

// update adds the checksum to the assignments of an UPDATE, whose table may have an alias at i.
func (s *statement) update(i int) error {
	name, set := s.table.Name, s.find(i, "SET")
	if set > i {
		name = s.tokens[set-1].text
	}
	return s.assign(set+1, name)
}

// assign adds the checksum to the assignments from i. name is that of the table within them.
func (s *statement) assign(i int, name string) error {
	end := s.find(i, "FROM", "WHERE", "RETURNING")
	var bound boundSum
	var values []value
	for _, a := range s.list(i, end) {
		column, expression, _ := strings.Cut(a, "=")
		column = strings.TrimSpace(column)
		if column[0] == '(' && slices.ContainsFunc(group(column), func(name string) bool {
			return s.table.column(name) != nil
		}) {
			return fmt.Errorf("it assigns a list of columns")
		}
		if c := s.table.column(column); c != nil {
			values = append(values, value{c, name + "." + column})
			values = append(values, s.split(&bound, c, strings.TrimSpace(expression))...)
		}
	}
	if len(values) > 0 {
		sum := s.table.sumOf(s.dialect, name+"."+checksumColumn, s.bind(bound), values)
		s.add(s.tokens[end-1].end, ", "+checksumColumn+" = "+sum)
	}
	return nil
}

// delete adds the statements that clear the references to the rows, which the database would clear without their
// checksums. On PostgreSQL it locks the rows before, so that no transaction adds references meanwhile. The name of the
// table is at i.
func (s *statement) delete(i int) {
	end := s.tokens[s.find(i, "RETURNING")-1].end
	if s.dialect.Postgres && len(s.table.cleared) > 0 {
		s.Before = append(s.Before, "SELECT 1 FROM "+s.Text[s.tokens[i].start:end]+" FOR UPDATE")
	}
	for _, r := range s.table.cleared {
		s.Before = append(s.Before, fmt.Sprintf("UPDATE %s SET %s = NULL WHERE %s IN (SELECT %s FROM %s%s)", r.table,
			r.column, r.column, r.key, s.table.Name, s.Text[s.tokens[i].end:end]))
	}
}
