package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// tableColumns are the columns of a table, in this order, as far as its records
// have them.
var tableColumns = []string{"id", "version", "userId", "score", "title", "atlas", "name", "workspace", "workspaceName",
	"email", "type", "kind", "role", "reason", "prefix", "status", "inviteUrl", "verifiedAt", "updatedAt", "createdAt",
	"joinedAt", "revokedAt"}

// columnsWithoutID are columns that distinguish records without an id.
var columnsWithoutID = map[string]bool{"version": true, "createdAt": true}

// omittedValues are the usual values: a column with no other value is left out.
var omittedValues = map[string]string{"status": "active"}

// printLists prints a table for each list of an answer, and the hint for the
// next page.
func (p *program) printLists(b *bytes.Buffer, answer []jsonMember) error {
	for _, m := range answer {
		if !isArray(m.value) {
			continue
		}
		var records []map[string]json.RawMessage
		if err := json.Unmarshal(m.value, &records); err != nil {
			return err
		}
		if len(records) == 0 {
			continue
		}
		if b.Len() > 0 {
			fmt.Fprintf(b, "\n%s\n", strings.ToUpper(kebab(m.name)))
		}
		p.printTable(b, records)
	}
	if b.Len() == 0 {
		fmt.Fprintln(p.err, "Nothing found.")
	}
	return nil
}

// A column is one field of the records of a table.
type column struct {
	name  string
	cells []string // the header first
	width int      // of the widest cell, or of the cut cells
	fixed bool     // it is never cut
}

// textColumns are the columns that may be cut, to no less than minTitleWidth
// for titles. Ids and links are useless when cut, so they are shown whole or
// not at all.
var textColumns = map[string]bool{"title": true, "atlas": true, "name": true, "workspace": true, "workspaceName": true,
	"email": true, "reason": true}

const (
	minTextWidth         = 12
	minTitleWidth        = 28 // of the column for which a table is read
	comfortableTextWidth = 32 // down to this width texts are cut before times
	dateWidth            = len("2006-01-02")
)

// printTable prints records below each other.
func (p *program) printTable(b *bytes.Buffer, records []map[string]json.RawMessage) {
	addNames(records, p.names)
	table := buildColumns(records)
	room, colour := p.terminalInfo(p.out)
	if room > 0 {
		table = fitWidth(table, room)
	}
	for n := range len(records) + 1 {
		line := ""
		for _, c := range table {
			cell := c.cells[n]
			if room > 0 {
				cell = ansi.Truncate(cell, c.width, "…")
			}
			line += cell + strings.Repeat(" ", c.width-ansi.StringWidth(cell)+2)
		}
		b.WriteString(bold(strings.TrimRight(line, " "), n == 0 && colour) + "\n")
		if n > 0 {
			b.WriteString(snippet(records[n-1], room))
		}
	}
}

// snippet returns a line with the first highlight of a search, unless the title
// has the same text.
func snippet(r map[string]json.RawMessage, room int) string {
	var highlights []string
	var title string
	// absent in other records
	_, _ = json.Unmarshal(r["highlights"], &highlights), json.Unmarshal(r["title"], &title)
	if len(highlights) == 0 || highlights[0] == title {
		return ""
	}
	line := "    " + strings.Join(strings.Fields(stripControl(highlights[0], false)), " ")
	if room > 0 {
		line = ansi.Truncate(line, room, "…")
	}
	return line + "\n"
}

// buildColumns returns the columns with distinguishing values.
func buildColumns(records []map[string]json.RawMessage) (table []*column) {
	for _, name := range tableColumns {
		reported := false
		c := &column{name: name, cells: []string{strings.ToUpper(strings.ReplaceAll(kebab(strings.TrimSuffix(name,
			"At")), "-", " "))}}
		for _, r := range records {
			text := ""
			if raw, ok := r[name]; ok {
				text = stripControl(displayValue(name, raw), false)
			}
			reported = reported || text != omittedValues[name] && text != ""
			c.cells = append(c.cells, text)
		}
		if _, named := records[0]["id"]; !reported || named && columnsWithoutID[name] {
			continue
		}
		c.measure()
		table = append(table, c)
	}
	return table
}

func (c *column) measure() {
	c.width = 0
	for _, cell := range c.cells {
		c.width = max(c.width, ansi.StringWidth(cell))
	}
}

// fitWidth narrows a table to the room, or as far as its columns allow. Ids are
// shortened and times become dates; then columns are removed from the right,
// and texts share the remaining width. The first column and texts stay. Beside
// a link for another person, that person's address stays whole too.
func fitWidth(table []*column, room int) []*column {
	if slices.ContainsFunc(table, func(c *column) bool { return c.name == "inviteUrl" }) {
		for _, c := range table {
			c.fixed = c.name == "email" || c.name == "inviteUrl"
		}
	}
	if tableWidth(table, 0) > room {
		shortenIDs(table)
	}
	if tableWidth(table, comfortableTextWidth) > room {
		for _, c := range table {
			if !strings.HasSuffix(c.name, "At") {
				continue
			}
			for i, cell := range c.cells[1:] {
				c.cells[i+1] = cell[:min(dateWidth, len(cell))]
			}
			c.measure()
		}
	}
	for i := len(table) - 1; i > 0 && tableWidth(table, 1) > room; i-- {
		if !textColumns[table[i].name] && !table[i].fixed {
			table = slices.Delete(table, i, i+1)
		}
	}
	for over := tableWidth(table, 0) - room; over > 0; {
		var widest *column
		for _, c := range table {
			if c.canShrink() && c.width > c.minWidth() &&
				(widest == nil || c.width-c.minWidth() > widest.width-widest.minWidth()) {
				widest = c
			}
		}
		if widest == nil {
			break
		}
		widest.width--
		over--
	}
	return table
}

// canShrink reports whether the column may be cut.
func (c *column) canShrink() bool { return textColumns[c.name] && !c.fixed }

// minWidth returns the least width of a cut column.
func (c *column) minWidth() int {
	if c.name == "title" {
		return minTitleWidth
	}
	return minTextWidth
}

// tableWidth returns the width of a table; with a bound, the width with its
// texts cut to it or to their least width.
func tableWidth(table []*column, bound int) int {
	sum := 2 * (len(table) - 1)
	for _, c := range table {
		if bound > 0 && c.canShrink() {
			sum += min(c.width, max(bound, c.minWidth()))
		} else {
			sum += c.width
		}
	}
	return sum
}
