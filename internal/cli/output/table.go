package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/strictjson"
)

// printLists prints a table for each list of an answer, and the hint for the next page.
func (p *Printer) printLists(b *bytes.Buffer, answer []strictjson.Member, shown op.Presentation) error {
	for _, m := range answer {
		if !m.IsArray() {
			continue
		}
		var records []map[string]json.RawMessage
		if err := json.Unmarshal(m.Value, &records); err != nil {
			return err
		}
		if len(records) == 0 {
			continue
		}
		if b.Len() > 0 {
			fmt.Fprintf(b, "\n%s\n", strings.ToUpper(format.Kebab(m.Name)))
		}
		p.printTable(b, records, shown.Members[m.Name])
	}
	if b.Len() == 0 && searchMeta(answer).Hint == "" {
		fmt.Fprintln(p.Err, "Nothing found.")
	}
	return nil
}

// A column is one field of the records of a table. Ids and links are useless
// when cut, so they are shown whole or not at all.
type column struct {
	op.Column
	cells []string // the header first
	width int      // of the widest cell, or of the cut cells
}

const (
	comfortableTextWidth = 32 // down to this width texts are cut before times
	dateWidth            = len("2006-01-02")
)

// maxCell is the width of a text in a table without a terminal: a title fits, and a long content is cut.
const maxCell = 300

// printTable prints records below each other.
func (p *Printer) printTable(b *bytes.Buffer, records []map[string]json.RawMessage, shown op.Member) {
	addNames(records, p.Names)
	p.addPeople(records)
	table := buildColumns(records, shown.Columns)
	room, colour := p.Terminal(p.Out)
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
		b.WriteString(format.Bold(strings.TrimRight(line, " "), n == 0 && colour) + "\n")
		if n > 0 {
			b.WriteString(snippet(records[n-1], shown.Nested.Snippets, room))
		}
	}
}

// snippet returns a line with the first text of the field of snippets, unless the title has the same text.
func snippet(r map[string]json.RawMessage, field string, room int) string {
	var snippets []string
	var title string
	// absent in other records
	_, _ = json.Unmarshal(r[field], &snippets), json.Unmarshal(r["title"], &title)
	if len(snippets) == 0 || snippets[0] == title {
		return ""
	}
	line := "    " + strings.Join(strings.Fields(format.StripControl(snippets[0], false)), " ")
	if room > 0 {
		line = ansi.Truncate(line, room, "…")
	}
	return line + "\n"
}

// buildColumns returns the columns with distinguishing values.
func buildColumns(records []map[string]json.RawMessage, columns []op.Column) (table []*column) {
	for _, stated := range columns {
		distinguishes := false
		head := strings.ReplaceAll(format.Kebab(stated.Name), "-", " ")
		if stated.Time {
			head = strings.TrimSuffix(head, " at")
		}
		c := &column{Column: stated, cells: []string{strings.ToUpper(head)}}
		for _, r := range records {
			text := ""
			if raw, ok := r[c.Name]; ok {
				text = format.StripControl(displayField(c.Name, raw, c.Time), false)
			}
			if c.MinWidth > 0 {
				text = ansi.Truncate(text, maxCell, "…")
			}
			distinguishes = distinguishes || text != c.Usual && text != ""
			c.cells = append(c.cells, text)
		}
		if distinguishes {
			c.measure()
			table = append(table, c)
		}
	}
	return table
}

func (c *column) measure() {
	c.width = 0
	for _, cell := range c.cells {
		c.width = max(c.width, ansi.StringWidth(cell))
	}
}

// fitWidth narrows a table to the room, or as far as its columns allow. Ids are short; times become dates; then
// columns are removed from the right, and texts share the remaining width. The first column and texts stay, and so does
// what must be whole, such as a link for another person and its address.
func fitWidth(table []*column, room int) []*column {
	shortenIDs(table)
	if tableWidth(table, comfortableTextWidth) > room {
		for _, c := range table {
			if !c.Time {
				continue
			}
			for i, cell := range c.cells[1:] {
				c.cells[i+1] = cell[:min(dateWidth, len(cell))]
			}
			c.measure()
		}
	}
	for i := len(table) - 1; i > 0 && tableWidth(table, 1) > room; i-- {
		if c := table[i]; c.MinWidth == 0 && !c.Fixed {
			table = slices.Delete(table, i, i+1)
		}
	}
	for over := tableWidth(table, 0) - room; over > 0; {
		var widest *column
		for _, c := range table {
			if c.MinWidth > 0 && c.width > c.MinWidth &&
				(widest == nil || c.width-c.MinWidth > widest.width-widest.MinWidth) {
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

// tableWidth returns the width of a table; with a bound, the width with its texts cut to it or to their least width.
func tableWidth(table []*column, bound int) int {
	sum := 2 * (len(table) - 1)
	for _, c := range table {
		if bound > 0 && c.MinWidth > 0 {
			sum += min(c.width, max(bound, c.MinWidth))
		} else {
			sum += c.width
		}
	}
	return sum
}
