package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"golang.org/x/term"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/strictjson"
)

// printAnswer prints the answer of an operation: its JSON object unchanged, or
// a table for a list and lines for one record.
func (p *program) printAnswer(o *op.Op, raw []byte) error {
	if p.json {
		_, err := p.out.Write(append(raw, '\n'))
		return err
	}
	answer, err := parseMembers(raw)
	if err != nil {
		return err
	}
	if len(answer) > 0 && answer[0].name == "ok" {
		answer = answer[1:]
	}
	var b bytes.Buffer
	shown := o.Presentation()
	switch {
	case len(answer) == 0:
		b.WriteString("Done.\n")
	case textOf(answer, shown.Whole) != "":
		b.WriteString(stripControl(textOf(answer, shown.Whole), true))
	case isArray(answer[0].value):
		err = p.printLists(&b, answer, shown)
	default:
		err = p.printRecord(&b, answer, shown, o.Method == "GET")
	}
	if err != nil {
		return err
	}
	if _, err = p.out.Write(b.Bytes()); err != nil {
		return err
	}
	p.printTermNotes(answer)
	p.printNextPageHint(answer)
	return nil
}

// maxShownCursor is the longest cursor that a terminal shows.
const maxShownCursor = 200

// printNextPageHint explains below a table how to get the next page.
func (p *program) printNextPageHint(answer []jsonMember) {
	cursor, how := textOf(answer, "nextCursor"), "--all"
	if cursor == "" {
		return
	}
	if len(cursor) <= maxShownCursor {
		how += ", or --cursor " + cursor
	}
	fmt.Fprintf(p.err, "There is more: %s\n", how)
}

// printTermNotes reports below a table which words of a query were corrected or ignored.
func (p *program) printTermNotes(answer []jsonMember) {
	for _, m := range answer {
		var meta loci.SearchMeta
		if m.name != "meta" || json.Unmarshal(m.value, &meta) != nil {
			continue
		}
		corrected := make([]string, len(meta.Corrected))
		for i, c := range meta.Corrected {
			corrected[i] = fmt.Sprintf("%s for %s", c.To, c.From)
		}
		if len(corrected) > 0 {
			fmt.Fprintf(p.err, "Corrected: %s\n", stripControl(enumerate(corrected), false))
		}
		if len(meta.IgnoredTerms) > 0 {
			fmt.Fprintf(p.err, "Ignored, because the query has too many words: %s\n",
				stripControl(enumerate(meta.IgnoredTerms), false))
		}
	}
}

// textOf returns the text of that name, or "".
func textOf(answer []jsonMember, name string) string {
	for _, m := range answer {
		if m.name == name {
			return displayValue(m.name, m.value)
		}
	}
	return ""
}

// A jsonMember is one field of a JSON object, in its original order.
type jsonMember struct {
	name  string
	value json.RawMessage
}

// parseMembers returns the fields of an object.
func parseMembers(raw []byte) (out []jsonMember, err error) {
	in := strictjson.NewScanner(raw)
	if in.Next() != '{' {
		return nil, in.SyntaxError()
	}
	err = in.Members(func(name string) error {
		value, err := in.Raw()
		out = append(out, jsonMember{name, value})
		return err
	})
	return out, err
}

func isArray(raw json.RawMessage) bool  { return len(raw) > 0 && raw[0] == '[' }
func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

// displayValue returns a JSON value for people; times are in the local time zone.
func displayValue(name string, raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	switch v := v.(type) {
	case string:
		if at, err := time.Parse(time.RFC3339Nano, v); err == nil &&
			(strings.HasSuffix(name, "At") || strings.HasSuffix(name, "Until")) {
			return at.Local().Format("2006-01-02 15:04")
		}
		return v
	case float64:
		if v == loci.Unlimited {
			return "unlimited"
		}
	case []any:
		texts := make([]string, len(v))
		for i := range v {
			texts[i] = listItem(v[i])
		}
		return strings.Join(texts, ", ")
	}
	return string(raw)
}

// listItem returns an item of a list; an object is shown by its id.
func listItem(v any) string {
	if object, ok := v.(map[string]any); ok {
		return fmt.Sprint(object["id"])
	}
	return fmt.Sprint(v)
}

// printRecord prints one record: a line for each value, then its long text, if
// that is wanted. The fields of the answer's main record have no prefix.
func (p *program) printRecord(b *bytes.Buffer, answer []jsonMember, shown op.Presentation, withText bool) error {
	var lines [][2]string
	var text string
	var walk func(prefix string, list []jsonMember, shown op.Presentation) error
	walk = func(prefix string, list []jsonMember, shown op.Presentation) error {
		for i, m := range list {
			switch {
			case isObject(m.value):
				inner, err := parseMembers(m.value)
				if err != nil {
					return err
				}
				under := prefix + m.name + "."
				if prefix == "" && i == 0 {
					under = ""
				}
				if err := walk(under, inner, shown.Members[m.name].Nested); err != nil {
					return err
				}
			case prefix == "" && m.name == shown.Text:
				text = displayValue(m.name, m.value)
			default:
				v := displayValue(m.name, m.value)
				if m.name == "similar" && isArray(m.value) {
					v = p.formatSimilar(m.value)
				}
				if v != "" {
					lines = append(lines, [2]string{kebabPath(prefix + m.name), stripControl(v, false)})
				}
			}
		}
		return nil
	}
	if err := walk("", answer, shown); err != nil {
		return err
	}
	if len(lines) == 0 && text == "" {
		fmt.Fprintln(p.err, "Nothing found.")
	}
	if p.etag != "" && len(lines) > 0 {
		lines = append(lines, [2]string{"etag", stripControl(p.etag, false)})
	}
	writeAligned(b, lines)
	if withText && text != "" {
		fmt.Fprintf(b, "\n%s\n", strings.TrimSuffix(stripControl(text, true), "\n"))
	}
	return nil
}

// kebabPath returns usage.storage.usedBytes as usage.storage.used-bytes.
func kebabPath(path string) string {
	parts := strings.Split(path, ".")
	for i := range parts {
		parts[i] = kebab(parts[i])
	}
	return strings.Join(parts, ".")
}

func writeAligned(b *bytes.Buffer, lines [][2]string) {
	widest := 0
	for _, l := range lines {
		widest = max(widest, len(l[0]))
	}
	for _, l := range lines {
		fmt.Fprintf(b, "%-*s  %s\n", widest, l[0], l[1])
	}
}

// stripControl removes terminal control characters from a text, which may be
// foreign. With lines, line ends and tabs stay.
func stripControl(s string, lines bool) string {
	return strings.Map(func(r rune) rune {
		switch {
		case lines && (r == '\n' || r == '\t'):
			return r
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, s)
}

// terminalInfo returns the width of the terminal w, 0 if it is none, and whether it supports colour.
func (p *program) terminalInfo(w io.Writer) (width int, colour bool) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 1 {
		width = 80
	}
	return width, p.env("NO_COLOR") == "" && p.env("TERM") != "dumb"
}

// plural returns a number with its noun.
func plural[N int | int64](n N, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
