package mcp

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/strictjson"
)

// A projection copies an answer without the members that tools omit; see op.Presentation.
type projection struct{ op.Presentation }

// apply returns an answer without the members that the projection omits.
func (b projection) apply(raw []byte) []byte {
	in := strictjson.NewScanner(raw)
	out, err := b.copyValue(make([]byte, 0, len(raw)), &in)
	if err != nil {
		return raw
	}
	return out
}

// copyValue appends the next value of in to out.
func (b projection) copyValue(out []byte, in *strictjson.Scanner) ([]byte, error) {
	switch c := in.Next(); {
	case b.Members == nil && b.Snippets == "" || c != '[' && c != '{':
		value, err := in.Raw()
		return append(out, value...), err
	case c == '{':
		return b.copyObject(out, in)
	}
	out = append(out, '[')
	err := in.Items(']', func() (err error) {
		out, err = b.copyValue(appendComma(out), in)
		return err
	})
	return append(out, ']'), err
}

func (b projection) copyObject(out []byte, in *strictjson.Scanner) ([]byte, error) {
	out = append(out, '{')
	long, repeats := false, b.Heading != "" && b.Snippets != "" && b.repeatsHeading(*in)
	err := in.RawMembers(func(name []byte) error {
		value, err := in.Raw()
		if err != nil {
			return err
		}
		plain := string(name[1 : len(name)-1])
		m := b.Members[plain]
		if plain == b.Text && value[0] == '"' {
			text := value[1 : len(value)-1]
			long = prefixBytes(text, maxSearchText) < len(text)
		}
		if plain == b.Snippets && !long || plain == b.Heading && repeats || m.Omit ||
			m.OmitValue != "" && string(value) == m.OmitValue {
			return nil
		}
		out = append(append(appendComma(out), name...), ':')
		nested := strictjson.NewScanner(value)
		out, err = projection{m.Nested}.copyValue(out, &nested)
		return err
	})
	return append(out, '}'), err
}

// repeatsHeading reports whether an object's text begins with its heading, or has it as one of the first lines, beside
// marks of Markdown. It reads a copy of the scanner.
func (b projection) repeatsHeading(in strictjson.Scanner) bool {
	var heading, content, beginning string
	err := in.RawMembers(func(name []byte) error {
		value, err := in.Raw()
		if err != nil || value[0] != '"' {
			return err
		}
		switch string(name[1 : len(name)-1]) {
		case b.Heading:
			heading, _ = text(value)
		case b.Text:
			content, _ = text(value)
			inside := value[1 : len(value)-1]
			beginning, _ = text(append(append([]byte{'"'}, inside[:prefixBytes(inside, minText)]...), '"'))
		}
		return nil
	})
	if heading = trimMarks(heading); err != nil || heading == "" {
		return false
	}
	if rest, ok := strings.CutPrefix(trimMarks(content), heading); ok {
		next, _ := utf8.DecodeRuneInString(rest) // a title is cut after its most characters, in a word too
		return utf8.RuneCountInString(heading) >= loci.MaxTitle || !unicode.IsLetter(next) && !unicode.IsDigit(next)
	}
	for line := range strings.Lines(beginning) {
		if trimMarks(line) == heading {
			return true
		}
	}
	return false
}

// trimMarks returns a text without white space and marks of Markdown around it.
func trimMarks(s string) string { return strings.Trim(s, " \t\r\n\ufeff#*_=>-`") }

// appendComma appends a comma, unless a bracket was opened just before.
func appendComma(out []byte) []byte {
	if last := out[len(out)-1]; last == '{' || last == '[' {
		return out
	}
	return append(out, ',')
}
