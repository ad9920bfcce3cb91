package jsonc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// maxDepth bounds the nesting of values.
const maxDepth = 500

// A parser reads a text from front to back.
type parser struct {
	text  []byte
	at    int
	depth int
}

// document reads the one value of a document: an object, or none in whitespace.
func (p *parser) document() (*node, error) {
	if !utf8.Valid(p.text) {
		return nil, p.fail("the file is not UTF-8")
	}
	commented, err := p.skip()
	if err != nil {
		return nil, err
	}
	if p.at == len(p.text) {
		if commented {
			return nil, p.fail("there are comments and no object")
		}
		return nil, nil
	}
	if p.text[p.at] != '{' {
		return nil, p.fail("the document is not an object")
	}
	root, err := p.value()
	if err != nil {
		return nil, err
	}
	if _, err := p.skip(); err != nil {
		return nil, err
	}
	if p.at < len(p.text) {
		return nil, p.fail(fmt.Sprintf("%s follows the end of the object", p.here()))
	}
	return root, nil
}

func (p *parser) fail(message string) error {
	return fmt.Errorf("line %d: %s", lineOf(p.text, min(p.at, len(p.text))), message)
}

// here names the next character for an error.
func (p *parser) here() string {
	if p.at >= len(p.text) {
		return "the end of the file"
	}
	r, _ := utf8.DecodeRune(p.text[p.at:])
	return fmt.Sprintf("%q", r)
}

// skip passes whitespace and comments, and reports whether there were comments.
func (p *parser) skip() (commented bool, err error) {
	for p.at < len(p.text) {
		rest := p.text[p.at:]
		switch {
		case isWhitespace(rest[0]):
			p.at++
			continue
		case bytes.HasPrefix(rest, []byte("//")):
			p.at += lineLength(rest)
		case bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest[2:], []byte("*/"))
			if end < 0 {
				return true, p.fail("a comment has no end")
			}
			p.at += end + 4
		default:
			return commented, nil
		}
		commented = true
	}
	return commented, nil
}

func isWhitespace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// lineLength returns the number of bytes up to the end of the line, without it.
func lineLength(text []byte) int {
	end := bytes.IndexByte(text, '\n')
	if end < 0 {
		return len(text)
	}
	if end > 0 && text[end-1] == '\r' {
		end--
	}
	return end
}

func (p *parser) value() (*node, error) {
	if p.at >= len(p.text) {
		return nil, p.fail("a value is missing at the end of the file")
	}
	n := &node{start: p.at}
	var err error
	comma := func(at int) { n.members[len(n.members)-1].comma = at }
	switch p.text[p.at] {
	case '{':
		err = p.list('}', func() error { return p.member(n) }, comma)
	case '[':
		err = p.list(']', func() error { return p.element(n) }, comma)
	case '"':
		n.scalar, err = p.string()
	default:
		n.scalar, err = p.literal()
	}
	n.end = p.at
	return n, err
}

// list reads the items of an object or array up to its end. A comma may follow the last one.
func (p *parser) list(end byte, item func() error, comma func(at int)) error {
	if p.depth++; p.depth > maxDepth {
		return p.fail(fmt.Sprintf("values are nested more than %d deep", maxDepth))
	}
	defer func() { p.depth-- }()
	begin := p.at
	p.at++
	for separated := true; ; {
		if ended, err := p.endOfList(begin, end); ended || err != nil {
			return err
		}
		if !separated {
			return p.fail(fmt.Sprintf("a comma is missing before %s", p.here()))
		}
		if err := item(); err != nil {
			return err
		}
		if _, err := p.skip(); err != nil {
			return err
		}
		if separated = p.at < len(p.text) && p.text[p.at] == ','; separated {
			comma(p.at)
			p.at++
		}
	}
}

// endOfList passes the end of a list, and reports whether it was there.
func (p *parser) endOfList(begin int, end byte) (bool, error) {
	if _, err := p.skip(); err != nil {
		return false, err
	}
	if p.at >= len(p.text) {
		return false, p.fail(fmt.Sprintf("%q of line %d has no end", p.text[begin], lineOf(p.text, begin)))
	}
	if p.text[p.at] != end {
		return false, nil
	}
	p.at++
	return true, nil
}

func (p *parser) member(object *node) error {
	start := p.at
	if p.text[p.at] != '"' {
		return p.fail(fmt.Sprintf("a name in quotes is missing before %s", p.here()))
	}
	name, err := p.string()
	if err != nil {
		return err
	}
	if _, err := p.skip(); err != nil {
		return err
	}
	if p.at >= len(p.text) || p.text[p.at] != ':' {
		return p.fail(fmt.Sprintf("a colon is missing after %q", name))
	}
	p.at++
	if _, err := p.skip(); err != nil {
		return err
	}
	value, err := p.value()
	if err != nil {
		return err
	}
	object.members = append(object.members, member{name, start, value, -1})
	return nil
}

func (p *parser) element(array *node) error {
	value, err := p.value()
	if err != nil {
		return err
	}
	array.members = append(array.members, member{"", value.start, value, -1})
	return nil
}

// string reads a text in quotes.
func (p *parser) string() (text string, err error) {
	for i := p.at + 1; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == '\\':
			i++
		case c == '"':
			if err := json.Unmarshal(p.text[p.at:i+1], &text); err != nil {
				return "", p.fail("a text in quotes has an unknown escape")
			}
			p.at = i + 1
			return text, nil
		case c < ' ':
			return "", p.fail("a text in quotes has no end in its line")
		}
	}
	return "", p.fail("a text in quotes has no end")
}

// literal reads a number, true, false or null.
func (p *parser) literal() (value any, err error) {
	end := p.at
	for end < len(p.text) && !isWhitespace(p.text[end]) && !bytes.ContainsRune([]byte(",:[]{}\"/"), rune(p.text[end])) {
		end++
	}
	if end == p.at {
		return nil, p.fail(fmt.Sprintf("a value is missing before %s", p.here()))
	}
	d := json.NewDecoder(bytes.NewReader(p.text[p.at:end]))
	d.UseNumber()
	if err := d.Decode(&value); err != nil || d.More() {
		return nil, p.fail(fmt.Sprintf("%.40q is not a value", p.text[p.at:end]))
	}
	p.at = end
	return value, nil
}
