package mcp

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/strictjson"
)

// Bounds of texts and lists.
const (
	maxSearchText   = 800 // characters of each text that a search shows
	beforeSnippet   = 100 // bytes of such a text before its best snippet
	maxWrittenText  = 80  // characters of each text in the answer of a write
	maxWrittenItems = 3   // items of each list there
)

// unlimited is loci.Unlimited in JSON.
var unlimited = strconv.Itoa(loci.Unlimited)

// A projection copies an answer without the members that tools omit; see op.Presentation.
type projection struct {
	op.Presentation
	nameOf nameFunc // returns the names of records in the answer of a write
}

// A nameFunc returns the name of a record as JSON, or nil.
type nameFunc func(resource string, id []byte) []byte

// apply returns an answer without the members that the projection omits.
func (b projection) apply(raw []byte) []byte {
	in := strictjson.NewScanner(raw)
	out, err := b.copyValue(make([]byte, 0, len(raw)), &in)
	if err != nil {
		return raw
	}
	return out
}

// copyValue appends the next value of in to out. Records in a list were not written by the call.
func (b projection) copyValue(out []byte, in *strictjson.Scanner) ([]byte, error) {
	switch c := in.Next(); {
	case b.Members == nil && b.Snippets == "" || c != '[' && c != '{':
		value, err := in.Raw()
		return append(out, value...), err
	case c == '{' && b.nameOf != nil && b.TrimsWrites:
		return b.copyWritten(out, in)
	case c == '{':
		return b.copyObject(out, in)
	}
	out = append(out, '[')
	err := in.Items(']', func() (err error) {
		out, err = projection{b.Presentation, nil}.copyValue(appendComma(out), in)
		return err
	})
	return append(out, ']'), err
}

func (b projection) copyObject(out []byte, in *strictjson.Scanner) ([]byte, error) {
	out = append(out, '{')
	var found foundText
	if b.Heading != "" {
		found = b.find(*in)
	}
	err := in.RawMembers(func(name []byte) error {
		value, err := in.Raw()
		if err != nil {
			return err
		}
		plain := string(name[1 : len(name)-1])
		m := b.Members[plain]
		switch {
		case plain == b.Snippets && plain != "", plain == b.Heading && found.repeatsHeading(), m.Omit,
			m.OmitValue != "" && string(value) == m.OmitValue:
			return nil
		case plain == b.Text && found.cut:
			out = append(append(append(append(appendComma(out), name...), `:"`...), found.window...), '"')
			return nil
		case m.IsLimit && string(value) == unlimited:
			value = []byte(`"unlimited"`)
		}
		out = append(append(appendComma(out), name...), ':')
		nested := projection{m.Nested, b.nameOf}
		if m.Nested.Whole != "" {
			nested.nameOf = nil // the call read a snapshot too
		}
		inside := strictjson.NewScanner(value)
		out, err = nested.copyValue(out, &inside)
		return err
	})
	if found.cut {
		out = append(out, `,"truncated":true`...)
	}
	return append(out, '}'), err
}

// copyWritten copies a record that the call wrote: the members that a caller cannot know, and what names the record.
func (b projection) copyWritten(out []byte, in *strictjson.Scanner) ([]byte, error) {
	out = append(out, '{')
	err := in.RawMembers(func(name []byte) error {
		value, err := in.Raw()
		m := b.Members[string(name[1:len(name)-1])]
		switch {
		case err != nil || !m.Written:
			return err
		case m.NamedAs == "":
			out = append(append(append(appendComma(out), name...), ':'), beginning(value)...)
			return nil
		}
		out = append(append(append(appendComma(out), '"'), m.NamedAs...), `":{"id":`...)
		out = append(out, value...)
		if name := b.nameOf(m.NamedAs, value); name != nil {
			out = append(append(out, `,"name":`...), beginning(name)...)
		}
		out = append(out, '}')
		return nil
	})
	return append(out, '}'), err
}

// beginning returns a value with the beginnings of its texts and lists.
func beginning(value []byte) []byte {
	k := newTruncator(value, op.Presentation{})
	if k.itemLimit, k.quiet = maxWrittenItems, true; k.copyAll(maxWrittenText, maxWrittenText) {
		return k.out
	}
	return value
}

// A foundText is the text of a record in a search, and what is shown of it.
type foundText struct {
	heading string
	window  []byte // as in JSON
	cut     bool   // the window is not the whole text
}

// find reads the record that a copy of the scanner is at. The window of a long text with snippets surrounds the first,
// which has most words of the query.
func (b projection) find(in strictjson.Scanner) (f foundText) {
	var snippet []byte
	_ = in.RawMembers(func(name []byte) error { // a fault ends the copy itself
		value, err := in.Raw()
		if err != nil {
			return err
		}
		switch string(name[1 : len(name)-1]) {
		case b.Heading:
			f.heading, _ = text(value)
		case b.Text:
			if value[0] == '"' {
				f.window = value[1 : len(value)-1]
			}
		case b.Snippets:
			if list := strictjson.NewScanner(value); list.Consume('[') && list.Next() == '"' {
				first, err := list.Raw()
				snippet = first[1 : len(first)-1]
				return err
			}
		}
		return nil
	})
	if b.Snippets == "" || prefixBytes(f.window, maxSearchText) == len(f.window) {
		return f
	}
	f.cut = true
	start := stepBack(f.window, max(0, bytes.Index(f.window, snippet)), beforeSnippet)
	if n := countChars(f.window); n-countChars(f.window[:start]) < maxSearchText { // the end of the text
		start = prefixBytes(f.window, n-maxSearchText)
	}
	f.window = f.window[start:]
	f.window = f.window[:prefixBytes(f.window, maxSearchText)]
	return f
}

// countChars returns the number of characters of the inside of a JSON string.
func countChars(s []byte) (n int) {
	for ; len(s) > 0; n++ {
		s = s[prefixBytes(s, 1):]
	}
	return n
}

// stepBack returns the start of a word at most n bytes before at, in the inside of a JSON string, or of a character
// where no word begins. Neither a space nor a byte beyond ASCII is part of an escape.
func stepBack(s []byte, at, n int) int {
	if at <= n {
		return 0
	}
	before := s[at-n : at]
	if i := bytes.IndexByte(before, ' '); i >= 0 {
		return at - n + i + 1
	}
	if i := bytes.IndexFunc(before, func(r rune) bool { return r >= utf8.RuneSelf && r != utf8.RuneError }); i >= 0 {
		return at - n + i
	}
	return at
}

// repeatsHeading reports whether the window begins with the heading, or has it as one of the first lines, beside marks
// of Markdown.
func (f foundText) repeatsHeading() bool {
	heading := trimMarks(f.heading)
	if heading == "" {
		return false
	}
	content, _ := text(append(append([]byte{'"'}, f.window...), '"'))
	if rest, ok := strings.CutPrefix(trimMarks(content), heading); ok {
		next, _ := utf8.DecodeRuneInString(rest) // a title is cut after its most characters, in a word too
		return utf8.RuneCountInString(heading) >= loci.MaxTitle || !unicode.IsLetter(next) && !unicode.IsDigit(next)
	}
	first, _ := text(append(append([]byte{'"'}, f.window[:prefixBytes(f.window, minText)]...), '"'))
	for line := range strings.Lines(first) {
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
