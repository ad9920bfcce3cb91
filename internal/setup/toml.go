package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// A tomlDocument is a TOML text. An edit changes one table, such as [mcp_servers.loci], and no other byte.
type tomlDocument struct {
	text    []byte // nil: the file does not exist
	newline string // the line ending
	values  map[string]any
	tables  []table // in the order of the text
}

// A table is a header with its keys: text[start:end], in whole lines. Comments after the last key belong to what
// follows.
type table struct{ start, end int }

func parseTOML(text []byte) (*tomlDocument, error) {
	d := &tomlDocument{text: text, newline: newlineOf(text)}
	body := bytes.TrimPrefix(text, []byte(bom))
	if isTooDeep(body, tomlQuoting) {
		return nil, errTooDeep
	}
	if err := toml.Unmarshal(text, &d.values); err != nil {
		if e, ok := errors.AsType[toml.ParseError](err); ok {
			return nil, fmt.Errorf("line %d, column %d: %s", e.Position.Line, e.Position.Col, e.Message)
		}
		return nil, err
	}
	d.tables = scanTables(text, len(text)-len(body))
	return d, nil
}

// scanTables returns the tables of a valid text from a place. A bracket that begins a line outside of values begins a
// header.
func scanTables(text []byte, at int) (tables []table) {
	line, depth, content := at, 0, false
	endLine := func() {
		if n := len(tables); n > 0 && content {
			tables[n-1].end = at
		}
		line, content = at, false
	}
	for at < len(text) {
		c, n := text[at], max(1, tomlQuoting.length(text[at:]))
		at += n
		switch {
		case c == '#', c == ' ', c == '\t', c == '\r':
		case c == '\n':
			if depth == 0 {
				endLine()
			}
		default:
			if c == '[' && depth == 0 && !content {
				tables = append(tables, table{line, at})
			}
			content = true
			switch c {
			case '[', '{':
				depth++
			case ']', '}':
				depth--
			}
		}
	}
	endLine()
	return tables
}

// header returns a pattern of the header of a table and its subtables. The group is "]" for the table itself.
func header(names ...string) *regexp.Regexp {
	for i, name := range names {
		name = regexp.QuoteMeta(name)
		names[i] = `(?:` + name + `|"` + name + `"|'` + name + `')`
	}
	return regexp.MustCompile(`^[ \t]*\[\[?[ \t]*` + strings.Join(names, `[ \t]*\.[ \t]*`) + `[ \t]*([.\]])`)
}

// Value returns the table of that name in the container, another table.
func (d *tomlDocument) Value(container, name string) (value any, found bool, err error) {
	outer, ok := d.values[container]
	if !ok {
		return nil, false, nil
	}
	tables, ok := outer.(map[string]any)
	if !ok {
		return nil, false, fmt.Errorf("%s is not a table", container)
	}
	value, found = tables[name]
	return value, found, nil
}

// Set returns the text with the table. The entry is JSON. A table that exists keeps its place, and loses its former
// keys.
func (d *tomlDocument) Set(container, name string, entry []byte) ([]byte, error) {
	lines, err := tomlMembers(entry)
	if err != nil {
		return nil, err
	}
	block := strings.Join(append([]string{"[" + container + "." + name + "]"}, lines...), d.newline) + d.newline
	parts, err := d.parts(container, name)
	switch {
	case err != nil:
		return nil, err
	case len(parts) > 0:
		return d.replace(parts, block), nil
	}
	isTable := header(container)
	if _, exists := d.values[container]; exists && !slices.ContainsFunc(d.tables, func(t table) bool {
		return isTable.Match(d.text[t.start:t.end])
	}) { // an inline table cannot be continued
		return nil, fmt.Errorf("%s is not written as tables [%[1]s.NAME]: write its entries so first", container)
	}
	return slices.Concat(d.text, []byte(d.separator()+block)), nil
}

// Remove returns the text without the table and its subtables, or nil if nothing remains of a text that Set made.
func (d *tomlDocument) Remove(container, name string) ([]byte, error) {
	parts, err := d.parts(container, name)
	if err != nil || len(parts) == 0 {
		return d.text, err
	}
	if len(parts) == 1 && parts[0] == (table{0, len(d.text)}) {
		return nil, nil
	}
	atEnd := len(d.replace(parts, "")) == parts[0].start
	parts[0].start -= d.separatorBefore(parts[0].start, atEnd)
	return d.replace(parts, ""), nil
}

// parts returns the table and its subtables, or nothing if there is no such entry.
func (d *tomlDocument) parts(container, name string) (parts []table, err error) {
	_, found, err := d.Value(container, name)
	if err != nil || !found {
		return nil, err
	}
	isPart, first := header(container, name), ""
	for _, t := range d.tables {
		if m := isPart.FindSubmatch(d.text[t.start:t.end]); m != nil {
			parts = append(parts, t)
			first += string(m[1])
		}
	}
	if !strings.HasPrefix(first, "]") {
		return nil, fmt.Errorf("%s.%s is not written as a table [%[1]s.%[2]s]: write it so first, or remove it",
			container, name)
	}
	return parts, nil
}

// replace puts a block in the place of the first part, and removes the other ones.
func (d *tomlDocument) replace(parts []table, block string) []byte {
	out := []byte{} // not nil: the file remains
	at := 0
	for _, p := range parts {
		out = append(append(out, d.text[at:p.start]...), block...)
		at, block = p.end, ""
	}
	return append(out, d.text[at:]...)
}

// separator returns the blank line before a new table at the end. A line with a space says that the text ends within a
// line, so that it can be restored.
func (d *tomlDocument) separator() string {
	switch {
	case d.text == nil:
		return ""
	case len(d.text) == 0 || d.text[len(d.text)-1] == '\n':
		return d.newline
	}
	return d.newline + " " + d.newline
}

// separatorBefore returns the length of the separator before a table. A text that ended within a line ends so again
// only if nothing follows the table.
func (d *tomlDocument) separatorBefore(at int, atEnd bool) int {
	before := string(d.text[:at])
	if mark := " " + d.newline; strings.HasSuffix(before, d.newline+mark) {
		if atEnd {
			return len(d.newline + mark)
		}
		return len(mark)
	}
	rest, blank := strings.CutSuffix(before, d.newline)
	if blank && (rest == "" || strings.HasSuffix(rest, "\n")) {
		return len(d.newline)
	}
	return 0
}

// tomlMembers returns the members of a JSON object as TOML. Texts and lists of texts are the same in both; an object
// becomes an inline table.
func tomlMembers(object []byte) (members []string, err error) {
	in := json.NewDecoder(bytes.NewReader(object))
	_, err = in.Token()
	for err == nil && in.More() {
		var key json.Token
		var value json.RawMessage
		if key, err = in.Token(); err == nil {
			err = in.Decode(&value)
		}
		if err == nil && value[0] == '{' {
			var inner []string
			inner, err = tomlMembers(value)
			value = []byte("{ " + strings.Join(inner, ", ") + " }")
		}
		if err == nil {
			members = append(members, key.(string)+" = "+string(value))
		}
	}
	return members, err
}
