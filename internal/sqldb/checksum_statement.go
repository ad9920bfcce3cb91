package sqldb

import (
	"fmt"
	"slices"
	"strings"
)

// WithChecksums returns a statement that writes the checksums of the rows that it writes too: q itself if it writes no
// table that has some. It reads the SQL of this program: INSERT INTO table (columns) VALUES or SELECT, with ON
// CONFLICT, and UPDATE table SET column = expression.
func WithChecksums(q string, d *Dialect) (string, error) {
	if !strings.Contains(q, "INSERT INTO ") && !strings.Contains(q, "UPDATE ") {
		return q, nil
	}
	s := statement{dialect: d, text: q, tokens: tokenize(q)}
	i := slices.IndexFunc(s.tokens, func(t token) bool { return t.text == "INSERT" || t.text == "UPDATE" })
	if i < 0 || i+2 >= len(s.tokens) {
		return q, nil
	}
	name := i + 1
	if s.tokens[i].text == "INSERT" {
		name++ // INTO
	}
	if s.table = ChecksumTables()[s.tokens[name].text]; s.table == nil {
		return q, nil
	}
	var err error
	if s.tokens[i].text == "INSERT" {
		err = s.insert(name + 1)
	} else {
		err = s.update(name + 1)
	}
	if err != nil {
		return "", fmt.Errorf("sqldb: add checksums to %q: %w", q, err)
	}
	return s.result(), nil
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

// A statement is one that writes a table with checksums.
type statement struct {
	dialect *Dialect
	table   *ChecksumTable
	text    string
	tokens  []token
	added   []token // texts to insert, at the places start, ascending
}

func (s *statement) add(at int, text string) { s.added = append(s.added, token{text, at, at}) }

func (s *statement) result() string {
	var b strings.Builder
	done := 0
	for _, a := range s.added {
		b.WriteString(s.text[done:a.start])
		b.WriteString(a.text)
		done = a.start
	}
	b.WriteString(s.text[done:])
	return b.String()
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
		parts = append(parts, s.text[s.tokens[i].start:s.tokens[next-1].end])
		i = next + 1
	}
	return parts
}

// group returns the texts between commas in a group.
func group(text string) []string {
	inner := strings.TrimSuffix(strings.TrimPrefix(text, "("), ")")
	s := statement{text: inner, tokens: tokenize(inner)}
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
	var values []value
	for i, name := range columns {
		if c, is := s.table.column(name); is {
			values = append(values, c.cast(s.dialect, expressions[i]))
		}
	}
	s.add(at, ", "+sumOf(s.dialect, "0", values))
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
	var values []value
	for _, a := range s.list(i, end) {
		column, expression, _ := strings.Cut(a, "=")
		column = strings.TrimSpace(column)
		if column[0] == '(' && slices.ContainsFunc(group(column), func(name string) bool {
			_, is := s.table.column(name)
			return is
		}) {
			return fmt.Errorf("it assigns a list of columns")
		}
		if c, is := s.table.column(column); is {
			values = append(values, value{c, name + "." + column}, c.cast(s.dialect, strings.TrimSpace(expression)))
		}
	}
	if len(values) > 0 {
		s.add(s.tokens[end-1].end, ", "+checksumColumn+" = "+sumOf(s.dialect, name+"."+checksumColumn, values))
	}
	return nil
}
