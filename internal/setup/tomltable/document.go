package tomltable

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// A Document is a parsed text.
type Document struct {
	text   []byte
	values map[string]any
	tables []table // in the order of the text
}

// A table is a header with its keys: text[start:end], in whole lines. Comments after the last key belong to what
// follows.
type table struct {
	path       []string
	start, end int
}

// Parse reads a document. A nil text is that of a file which does not exist.
func Parse(text []byte) (*Document, error) {
	d := &Document{text: text}
	if isTooDeep(text) {
		return nil, fmt.Errorf("values are nested more than %d deep", maxDepth)
	}
	if err := toml.Unmarshal(text, &d.values); err != nil {
		if e, ok := errors.AsType[toml.ParseError](err); ok {
			return nil, fmt.Errorf("line %d: %s", e.Position.Line, e.Message)
		}
		return nil, err
	}
	d.tables = scan(text)
	return d, nil
}

// Value returns the table of that name in the container, another table.
func (d *Document) Value(container, name string) (value any, found bool, err error) {
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

// Set returns the text with the table. Its lines are keys with values, without a header. A table that exists keeps its
// place, and loses its former keys.
func (d *Document) Set(container, name string, lines []string) ([]byte, error) {
	block := strings.Join(append([]string{"[" + container + "." + name + "]"}, lines...), d.newline()) + d.newline()
	_, found, err := d.Value(container, name)
	if err != nil {
		return nil, err
	}
	parts, err := d.parts(container, name, found)
	switch {
	case err != nil:
		return nil, err
	case found:
		return d.replace(parts, block), nil
	}
	after := slices.Concat(d.text, []byte(d.separator()+block))
	if _, err := Parse(after); err != nil || d.isInline(container) {
		return nil, fmt.Errorf("%s is not written as tables [%[1]s.NAME]: write its entries so first", container)
	}
	return after, nil
}

// isInline reports whether a table exists that no header names. Such a table cannot be continued.
func (d *Document) isInline(container string) bool {
	_, exists := d.values[container]
	return exists && !slices.ContainsFunc(d.tables, func(t table) bool {
		return len(t.path) > 0 && t.path[0] == container
	})
}

// Remove returns the text without the table and its subtables, or nil if nothing remains of a text that Set made.
func (d *Document) Remove(container, name string) ([]byte, error) {
	_, found, err := d.Value(container, name)
	if err != nil || !found {
		return d.text, err
	}
	parts, err := d.parts(container, name, true)
	if err != nil {
		return nil, err
	}
	if parts[0].start == 0 && parts[len(parts)-1].end == len(d.text) && len(parts) == 1 {
		return nil, nil
	}
	atEnd := len(d.replace(parts, "")) == parts[0].start
	parts[0].start -= d.separatorBefore(parts[0].start, atEnd)
	return d.replace(parts, ""), nil
}

// parts returns the table and its subtables.
func (d *Document) parts(container, name string, found bool) (parts []table, err error) {
	for _, t := range d.tables {
		if len(t.path) >= 2 && t.path[0] == container && t.path[1] == name {
			parts = append(parts, t)
		}
	}
	if found && (len(parts) == 0 || len(parts[0].path) != 2) {
		return nil, fmt.Errorf("%s.%s is not written as a table [%[1]s.%[2]s]: write it so first, or remove it",
			container, name)
	}
	return parts, nil
}

// replace puts a block in the place of the first part, and removes the other ones.
func (d *Document) replace(parts []table, block string) []byte {
	out := []byte{} // not nil: the file remains
	at := 0
	for _, p := range parts {
		out = append(append(out, d.text[at:p.start]...), block...)
		at, block = p.end, ""
	}
	return append(out, d.text[at:]...)
}

// newline returns the line ending of the document.
func (d *Document) newline() string {
	if bytes.Contains(d.text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// separator returns the blank line before a new table at the end. A line with a space says that the text ends within a
// line, so that it can be restored.
func (d *Document) separator() string {
	switch {
	case d.text == nil:
		return ""
	case len(d.text) == 0 || d.text[len(d.text)-1] == '\n':
		return d.newline()
	}
	return d.newline() + " " + d.newline()
}

// separatorBefore returns the length of the separator before a table. A text that ended within a line ends so again
// only if nothing follows the table.
func (d *Document) separatorBefore(at int, atEnd bool) int {
	before := string(d.text[:at])
	if mark := " " + d.newline(); strings.HasSuffix(before, d.newline()+mark) {
		if atEnd {
			return len(d.newline() + mark)
		}
		return len(mark)
	}
	rest, blank := strings.CutSuffix(before, d.newline())
	if blank && (rest == "" || strings.HasSuffix(rest, "\n")) {
		return len(d.newline())
	}
	return 0
}
