package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/console"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/cli/records"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/strictjson"
)

// A Printer prints the answers of operations.
type Printer struct {
	*console.Console
	Names     map[loci.ID]string // of atlases and workspaces by id
	People    map[loci.ID]string // names of authors by id
	ShowUsers bool               // the answer is one record, or its records belong to several users
	ETag      string             // of the record
}

// Print prints the answer of an operation: its JSON object unchanged, or a table for a list and lines for one record.
// It returns command.ErrReported where records of the answer say that they failed.
func (p *Printer) Print(o *op.Op, raw []byte) error {
	if err := p.print(raw, o.Presentation(), o.Method == "GET"); err != nil {
		return err
	}
	if failed, all := Failures(o, raw); failed > 0 {
		p.PrintMessage(fmt.Sprintf("%d of %d failed", failed, all))
		return command.ErrReported
	}
	return nil
}

// PrintText prints the text of the record of an answer alone: to a terminal with visible control characters, elsewhere
// exactly.
func (p *Printer) PrintText(o *op.Op, raw []byte) error {
	answer, err := strictjson.Object(raw)
	if err != nil {
		return err
	}
	text := textOf(answer, o.Presentation().Text)
	if width, _ := p.Terminal(p.Out); width > 0 {
		text = strings.TrimSuffix(format.StripControl(text, true), "\n") + "\n"
	}
	_, err = io.WriteString(p.Out, text)
	return err
}

// PrintOutput is Print of an output.
func (p *Printer) PrintOutput(o *op.Op, out any) error {
	raw, err := op.Encode(out)
	if err != nil {
		return err
	}
	return p.Print(o, raw)
}

// PrintAnswer prints an object in the form of an answer. Tags of its type state the columns (see op.Presentation).
func (p *Printer) PrintAnswer(v any) error {
	raw, err := op.Encode(v)
	if err != nil {
		return err
	}
	return p.print(raw, op.NewPresentation(reflect.TypeOf(v)), true)
}

// print prints an answer. withText includes the long text of a record.
func (p *Printer) print(raw []byte, shown op.Presentation, withText bool) error {
	if p.JSON {
		_, err := p.Out.Write(append(format.EscapeJSON(raw), '\n'))
		return err
	}
	answer, err := strictjson.Object(raw)
	if err != nil {
		return err
	}
	if len(answer) > 0 && answer[0].Name == "ok" {
		answer = answer[1:]
	}
	var b bytes.Buffer
	switch {
	case len(answer) == 0:
		b.WriteString("Done.\n")
	case textOf(answer, shown.Whole) != "":
		b.WriteString(format.StripControl(textOf(answer, shown.Whole), true))
	case answer[0].IsArray():
		err = p.printLists(&b, answer, shown)
	default:
		err = p.printRecord(&b, answer, shown, withText)
	}
	if err != nil {
		return err
	}
	if _, err = p.Out.Write(b.Bytes()); err != nil {
		return err
	}
	p.printSearchNotes(answer)
	p.printRecipientsNote(answer)
	p.printNextPageHint(answer)
	return nil
}

// Failures counts the records of an answer, and those that failed, in lists that have the column ok.
func Failures(o *op.Op, raw []byte) (failed, all int) {
	for name, m := range o.Presentation().Members {
		if !slices.ContainsFunc(m.Columns, func(c op.Column) bool { return c.Name == "ok" }) {
			continue
		}
		var answer map[string]json.RawMessage
		var records []struct{ OK bool }
		if json.Unmarshal(raw, &answer) != nil || json.Unmarshal(answer[name], &records) != nil {
			continue
		}
		for _, r := range records {
			if all++; !r.OK {
				failed++
			}
		}
	}
	return failed, all
}

// maxShownCursor is the longest cursor that a terminal shows.
const maxShownCursor = 200

// printNextPageHint explains below a table how to get the next page.
func (p *Printer) printNextPageHint(answer []strictjson.Member) {
	cursor, how := textOf(answer, "nextCursor"), "--all"
	if cursor == "" {
		return
	}
	if len(cursor) <= maxShownCursor {
		how += ", or --cursor " + cursor
	}
	p.PrintNote("There is more: " + how)
}

// printSearchNotes reports below a table which words of a query were corrected or ignored, and that little or nothing
// fits.
func (p *Printer) printSearchNotes(answer []strictjson.Member) {
	meta := searchMeta(answer)
	corrected := make([]string, len(meta.Corrected))
	for i, c := range meta.Corrected {
		corrected[i] = fmt.Sprintf("%s for %s", c.To, c.From)
	}
	if len(corrected) > 0 {
		p.PrintNote("Corrected: " + format.StripControl(format.Enumerate(corrected), false))
	}
	if len(meta.IgnoredTerms) > 0 {
		p.PrintNote("Ignored, because the query has too many words: " +
			format.StripControl(format.Enumerate(meta.IgnoredTerms), false))
	}
	if meta.Hint != "" {
		p.PrintNote(format.StripControl(meta.Hint, false))
	}
}

// searchMeta returns the description of a search in its answer. It is empty in other answers.
func searchMeta(answer []strictjson.Member) (meta loci.SearchMeta) {
	for _, m := range answer {
		if m.Name == "meta" && json.Unmarshal(m.Value, &meta) != nil {
			return loci.SearchMeta{}
		}
	}
	return meta
}

// textOf returns the text of that name, or "".
func textOf(answer []strictjson.Member, name string) string {
	for _, m := range answer {
		if m.Name == name {
			return displayValue(m.Value, false)
		}
	}
	return ""
}

// displayField returns the value of a field for people. A number of bytes has a unit.
func displayField(name string, raw json.RawMessage, isTime bool) string {
	var n int64
	if (name == "size" || strings.HasSuffix(name, "Bytes")) && json.Unmarshal(raw, &n) == nil && n != loci.Unlimited &&
		string(raw) != "null" {
		return format.Bytes(n)
	}
	return displayValue(raw, isTime)
}

// displayValue returns a JSON value for people; times are in the local time zone.
func displayValue(raw json.RawMessage, isTime bool) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	switch v := v.(type) {
	case string:
		if at, err := time.Parse(time.RFC3339Nano, v); err == nil && isTime {
			return at.Local().Format("2006-01-02 15:04")
		}
		return v
	case float64:
		if v == loci.Unlimited {
			return "unlimited"
		}
	case map[string]any:
		return listItem(v)
	case []any:
		texts := make([]string, len(v))
		for i := range v {
			texts[i] = listItem(v[i])
		}
		return strings.Join(texts, ", ")
	}
	return string(raw)
}

// listItem returns an item of a list; an object is shown by its name and its status, or else its id.
func listItem(v any) string {
	object, ok := v.(map[string]any)
	if !ok {
		return fmt.Sprint(v)
	}
	var texts []string
	for _, field := range []string{"name", "status"} {
		if text, ok := object[field].(string); ok && text != "" {
			texts = append(texts, text)
		}
	}
	if texts == nil {
		return fmt.Sprint(object["id"])
	}
	return strings.Join(texts, " ")
}

// printRecord prints one record: a line for each value, then its long text, if that is wanted, or its tables, then the
// text of an object that is one text as a whole. The fields of the answer's main record have no prefix.
func (p *Printer) printRecord(b *bytes.Buffer, answer []strictjson.Member, shown op.Presentation, withText bool) error {
	var lines [][2]string
	var text, whole string
	var tables []strictjson.Member
	var walk func(prefix string, list []strictjson.Member, shown op.Presentation) error
	walk = func(prefix string, list []strictjson.Member, shown op.Presentation) error {
		for i, m := range list {
			switch {
			case m.IsObject():
				inner, err := strictjson.Object(m.Value)
				if err != nil {
					return err
				}
				nested := shown.Members[m.Name].Nested
				if s := textOf(inner, nested.Whole); s != "" {
					whole = s
					continue
				}
				under := prefix + m.Name + "."
				if prefix == "" && i == 0 {
					under = ""
				}
				if err := walk(under, inner, nested); err != nil {
					return err
				}
			case prefix == "" && shown.Members[m.Name].Columns != nil:
				tables = append(tables, m)
			case prefix == "" && m.Name == shown.Text:
				text = displayValue(m.Value, false)
			default:
				v := displayField(m.Name, m.Value, shown.Times[m.Name])
				switch {
				case slices.Contains(records.PersonFields, m.Name):
					v = nameWithID(p.People, loci.ID(v))
				case slices.Contains(containerFields, m.Name):
					v = nameWithID(p.Names, loci.ID(v))
				}
				if m.Name == "similar" && m.IsArray() {
					v = p.formatSimilar(m.Value)
				}
				if v != "" {
					lines = append(lines, [2]string{kebabPath(prefix + m.Name), format.StripControl(v, false)})
				}
			}
		}
		return nil
	}
	if err := walk("", answer, shown); err != nil {
		return err
	}
	if len(lines) == 0 && text == "" && whole == "" {
		fmt.Fprintln(p.Err, "Nothing found.")
	}
	if p.ETag != "" && len(lines) > 0 {
		lines = append(lines, [2]string{"etag", format.StripControl(p.ETag, false)})
	}
	writeAligned(b, lines)
	if len(tables) > 0 {
		if err := p.printLists(b, tables, shown); err != nil {
			return err
		}
		if withText {
			printTexts(b, tables, shown)
		}
	}
	if width, _ := p.Terminal(p.Out); whole != "" && width > 0 {
		whole = ""
		p.PrintNote("The text for the agent is in the answer with --json, and in a file or a pipe.")
	}
	for _, s := range []string{text, whole} {
		if s != "" && (withText || s == whole) {
			fmt.Fprintf(b, "\n%s\n", strings.TrimSuffix(format.StripControl(s, true), "\n"))
		}
	}
	return nil
}

// printTexts prints the long texts of the records of lists, unless their titles say as much.
func printTexts(b *bytes.Buffer, lists []strictjson.Member, shown op.Presentation) {
	for _, m := range lists {
		field := shown.Members[m.Name].Nested.Text
		var records []map[string]any
		if field == "" || json.Unmarshal(m.Value, &records) != nil {
			continue
		}
		for _, r := range records {
			text, _ := r[field].(string)
			if text != "" && text != r["title"] {
				fmt.Fprintf(b, "\n%v\n%s\n", r["id"], strings.TrimSuffix(format.StripControl(text, true), "\n"))
			}
		}
	}
}

// kebabPath returns usage.storage.usedBytes as usage.storage.used-bytes.
func kebabPath(path string) string {
	parts := strings.Split(path, ".")
	for i := range parts {
		parts[i] = format.Kebab(parts[i])
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

// printRecipientsNote reports that a message was for no agent.
func (p *Printer) printRecipientsNote(answer []strictjson.Member) {
	none := 0
	for _, m := range answer {
		if (m.Name == "recipients" || m.Name == "skipped") && string(m.Value) == "[]" {
			none++
		}
	}
	if none == 2 {
		fmt.Fprintln(p.Err, "No agent has received it: the workspace has no other active agent.")
	}
}
