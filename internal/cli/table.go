package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// columns are the fields that a table shows, in this order, of those that its
// records have.
var columns = []string{"id", "version", "userId", "score", "title", "name", "workspaceName", "email", "type", "kind", "role", "reason", "prefix", "status", "inviteUrl", "verifiedAt", "updatedAt", "createdAt", "joinedAt", "revokedAt"}

// nameless are columns by which those are told apart that have no id.
var nameless = map[string]bool{"version": true, "createdAt": true}

// usual is a value that says nothing: a column that holds no other is left out.
var usual = map[string]string{"status": "active"}

// lists prints a table for each list of an answer, and where the next page begins.
func (p *program) lists(b *bytes.Buffer, answer []member) error {
	for _, m := range answer {
		if !isList(m.value) {
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
		p.grid(b, records)
	}
	if b.Len() == 0 {
		fmt.Fprintln(p.err, "Nothing found.")
	}
	for _, m := range answer {
		if m.name == "nextCursor" {
			fmt.Fprintf(p.err, "There is more: --cursor %s\n", plain(m.name, m.value))
		}
	}
	return nil
}

// grid prints records below each other. On a terminal the widest column
// gives way until a line fits.
func (p *program) grid(b *bytes.Buffer, records []map[string]json.RawMessage) {
	rows := cells(records)
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}
	room, colour := p.terminal(p.out)
	if room > 0 {
		shrink(widths, room-2*(len(widths)-1))
	}
	for n, row := range rows {
		line := ""
		for i, cell := range row {
			if room > 0 {
				cell = ansi.Truncate(cell, widths[i], "…")
			}
			line += cell + strings.Repeat(" ", widths[i]-ansi.StringWidth(cell)+2)
		}
		line = strings.TrimRight(line, " ")
		b.WriteString(bold(line, n == 0 && colour) + "\n")
	}
}

// cells returns the rows of a table, the heads first.
func cells(records []map[string]json.RawMessage) [][]string {
	rows := make([][]string, len(records)+1)
	for _, name := range columns {
		told := false
		texts := make([]string, len(records))
		for i, r := range records {
			if raw, ok := r[name]; ok {
				texts[i] = clean(plain(name, raw), false)
			}
			told = told || texts[i] != usual[name] && texts[i] != ""
		}
		if _, named := records[0]["id"]; !told || named && nameless[name] {
			continue
		}
		rows[0] = append(rows[0], strings.ToUpper(strings.ReplaceAll(kebab(strings.TrimSuffix(name, "At")), "-", " ")))
		for i := range records {
			rows[i+1] = append(rows[i+1], texts[i])
		}
	}
	return rows
}

// shrink takes from the widest column, never below 12, until all fit into room.
func shrink(widths []int, room int) {
	for {
		sum, widest := 0, 0
		for i, w := range widths {
			sum += w
			if i > 0 && (widest == 0 || w > widths[widest]) {
				widest = i // the first one is the id, which is worth nothing cut
			}
		}
		if sum <= room || widths[widest] <= 12 || widest == 0 {
			return
		}
		widths[widest] = max(12, widths[widest]-(sum-room))
	}
}
