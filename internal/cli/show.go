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
)

// show prints the answer of an operation: its JSON object as it came, or a
// table for a list and lines for one thing.
func (p *program) show(o *op.Op, raw []byte) error {
	if p.json {
		_, err := p.out.Write(append(raw, '\n'))
		return err
	}
	answer, err := members(raw)
	if err != nil {
		return err
	}
	if len(answer) > 0 && answer[0].name == "ok" {
		answer = answer[1:]
	}
	var b bytes.Buffer
	switch {
	case len(answer) == 0:
		b.WriteString("Done.\n")
	case text(answer) != "":
		b.WriteString(clean(text(answer), true))
	case isList(answer[0].value):
		err = p.lists(&b, answer)
	default:
		err = p.thing(&b, answer, o.Method == "GET")
	}
	if err != nil {
		return err
	}
	if _, err = p.out.Write(b.Bytes()); err != nil {
		return err
	}
	p.tellTerms(answer)
	p.tellMore(answer)
	return nil
}

// longCursor is the length from which a cursor is no help on a terminal.
const longCursor = 200

// tellMore says below a table how to go on where its page ends.
func (p *program) tellMore(answer []member) {
	for _, m := range answer {
		if m.name != "nextCursor" {
			continue
		}
		how := "--all"
		if cursor := plain(m.name, m.value); len(cursor) <= longCursor {
			how += ", or --cursor " + cursor
		}
		fmt.Fprintf(p.err, "There is more: %s\n", how)
	}
}

// tellTerms reports below a table which words of a query were corrected or ignored.
func (p *program) tellTerms(answer []member) {
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
			fmt.Fprintf(p.err, "Corrected: %s\n", clean(enumerate(corrected), false))
		}
		if len(meta.IgnoredTerms) > 0 {
			fmt.Fprintf(p.err, "Ignored, because the query has too many words: %s\n",
				clean(enumerate(meta.IgnoredTerms), false))
		}
	}
}

// text is the answer as a text for people, where it has one.
func text(answer []member) string {
	for _, m := range answer {
		if m.name == "markdown" {
			return plain(m.name, m.value)
		}
	}
	return ""
}

// A member is one field of a JSON object, in the order in which it came.
type member struct {
	name  string
	value json.RawMessage
}

// members returns the fields of an object.
func members(raw []byte) ([]member, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	var out []member
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := member{name: fmt.Sprint(name)}
		if err := d.Decode(&m.value); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

func isList(raw json.RawMessage) bool   { return len(raw) > 0 && raw[0] == '[' }
func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

// plain returns a JSON value as a person reads it; a time is that of the
// person's own clock.
func plain(name string, raw json.RawMessage) string {
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
			texts[i] = inList(v[i])
		}
		return strings.Join(texts, ", ")
	}
	return string(raw)
}

// inList returns a value within a list: what is more than a text is told by its id.
func inList(v any) string {
	if object, ok := v.(map[string]any); ok {
		return fmt.Sprint(object["id"])
	}
	return fmt.Sprint(v)
}

// thing prints one record: a line for each value, then its content. The
// record that an answer is about stands without its name before it.
func (p *program) thing(b *bytes.Buffer, answer []member, content bool) error {
	var lines [][2]string
	var text string
	var walk func(prefix string, list []member) error
	walk = func(prefix string, list []member) error {
		for i, m := range list {
			switch {
			case isObject(m.value):
				inner, err := members(m.value)
				if err != nil {
					return err
				}
				under := prefix + m.name + "."
				if prefix == "" && i == 0 {
					under = ""
				}
				if err := walk(under, inner); err != nil {
					return err
				}
			case prefix == "" && m.name == "content":
				text = plain(m.name, m.value)
			default:
				v := plain(m.name, m.value)
				if m.name == "similar" && isList(m.value) {
					v = p.similar(m.value)
				}
				if v != "" {
					lines = append(lines, [2]string{kebabPath(prefix + m.name), clean(v, false)})
				}
			}
		}
		return nil
	}
	if err := walk("", answer); err != nil {
		return err
	}
	if len(lines) == 0 && text == "" {
		fmt.Fprintln(p.err, "Nothing found.")
	}
	if p.etag != "" && len(lines) > 0 {
		lines = append(lines, [2]string{"etag", clean(p.etag, false)})
	}
	align(b, lines)
	if content && text != "" {
		fmt.Fprintf(b, "\n%s\n", strings.TrimSuffix(clean(text, true), "\n"))
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

func align(b *bytes.Buffer, lines [][2]string) {
	widest := 0
	for _, l := range lines {
		widest = max(widest, len(l[0]))
	}
	for _, l := range lines {
		fmt.Fprintf(b, "%-*s  %s\n", widest, l[0], l[1])
	}
}

// clean takes out of a text what would command a terminal: it may come from
// somebody else. With lines, line ends and tabs stay.
func clean(s string, lines bool) string {
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

// terminal returns the width of the terminal that w is, 0 if it is none, and
// whether it may show colour.
func (p *program) terminal(w io.Writer) (width int, colour bool) {
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

// many is a number with its noun.
func many[N int | int64](n N, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
