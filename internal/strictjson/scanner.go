package strictjson

import (
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// A Scanner reads one JSON text (RFC 8259) from its beginning to its end. Its errors are of type Error.
type Scanner struct {
	data []byte
	pos  int
}

// An Error describes the fault of a text for its author.
type Error string

func (e Error) Error() string { return string(e) }

func errorf(format string, args ...any) error { return Error(fmt.Sprintf(format, args...)) }

// NewScanner returns a scanner at the beginning of a text.
func NewScanner(text []byte) Scanner { return Scanner{data: text} }

// Next skips white space and returns the next byte, or 0 at the end.
func (s *Scanner) Next() byte {
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// Consume skips white space and then c. It reports whether c was next.
func (s *Scanner) Consume(c byte) bool {
	if s.Next() != c {
		return false
	}
	s.pos++
	return true
}

// Literal skips a word and reports whether it was next.
func (s *Scanner) Literal(word string) bool {
	if len(s.data)-s.pos < len(word) || string(s.data[s.pos:s.pos+len(word)]) != word {
		return false
	}
	s.pos += len(word)
	return true
}

// SyntaxError returns the error of text that is not JSON from the scanner's position on.
func (s *Scanner) SyntaxError() error {
	if s.pos >= len(s.data) {
		return errorf("the JSON text ends too early")
	}
	return errorf("the JSON text is malformed at byte %d", s.pos)
}

// String reads the next string. name is for messages.
func (s *Scanner) String(name string) (string, error) {
	s.pos++
	start := s.pos       // of the part that is not in unescaped yet
	var unescaped []byte // the string up to its last escape
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c == '"':
			text := s.data[start:s.pos]
			if unescaped != nil {
				text = append(unescaped, text...)
			}
			if s.pos++; !utf8.Valid(text) {
				return "", errorf("%s must be valid UTF-8", name)
			}
			return string(text), nil
		case c == '\\':
			unescaped = append(unescaped, s.data[start:s.pos]...)
			r, ok := s.readEscape()
			if !ok {
				return "", errorf("%s holds an escape that is not one of JSON's", name)
			}
			if r <= 0 {
				return "", errorf("%s must hold no NUL and no lone surrogate", name)
			}
			unescaped, start = utf8.AppendRune(unescaped, r), s.pos
		case c < ' ':
			return "", errorf("%s holds a control character that is not escaped", name)
		default:
			s.pos++
		}
	}
	return "", errorf("the JSON text ends inside a string")
}

// loneSurrogate replaces an escaped surrogate without its other half.
const loneSurrogate rune = -1

// readEscape reads one escape.
func (s *Scanner) readEscape() (rune, bool) {
	if s.pos+1 >= len(s.data) {
		return 0, false
	}
	c := s.data[s.pos+1]
	s.pos += 2
	switch c {
	case '"', '\\', '/':
		return rune(c), true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	case 'u':
		return s.readUnicodeEscape()
	}
	return 0, false
}

func (s *Scanner) readUnicodeEscape() (rune, bool) {
	r, ok := s.readHex4()
	if !ok || !utf16.IsSurrogate(r) {
		return r, ok
	}
	if !s.Literal(`\u`) {
		return loneSurrogate, true
	}
	low, ok := s.readHex4()
	if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
		r = loneSurrogate
	}
	return r, ok
}

func (s *Scanner) readHex4() (rune, bool) {
	if len(s.data)-s.pos < 4 {
		return 0, false
	}
	var r rune
	for _, c := range s.data[s.pos : s.pos+4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	s.pos += 4
	return r, true
}

// End checks that only white space follows the value called what.
func (s *Scanner) End(what string) error {
	if s.Next(); s.pos < len(s.data) {
		return errorf("there is text after the JSON %s", what)
	}
	return nil
}

// Number reads the next number.
func (s *Scanner) Number() (string, error) {
	end := NumberEnd(s.data, s.pos)
	if end < 0 {
		return "", s.SyntaxError()
	}
	text := string(s.data[s.pos:end])
	s.pos = end
	return text, nil
}

// Members reads the next object. member reads or skips the value of each name.
func (s *Scanner) Members(member func(name string) error) error {
	return s.Items('}', func() error {
		name, err := s.name()
		if err != nil {
			return err
		}
		return member(name)
	})
}

// name reads a name and the colon after it.
func (s *Scanner) name() (string, error) {
	if s.Next() != '"' {
		return "", s.SyntaxError()
	}
	name, err := s.String("a field's name")
	if err == nil && !s.Consume(':') {
		err = s.SyntaxError()
	}
	return name, err
}

// Items reads the next list or object, up to the bracket end. item reads or skips each item.
func (s *Scanner) Items(end byte, item func() error) error {
	s.pos++
	for n := 0; !s.Consume(end); n++ {
		if n > 0 && !s.Consume(',') {
			return s.SyntaxError()
		}
		if err := item(); err != nil {
			return err
		}
	}
	return nil
}

// NumberEnd returns the end of the JSON number that begins at pos, or -1.
func NumberEnd(b []byte, pos int) int {
	digits := func() bool {
		start := pos
		for pos < len(b) && '0' <= b[pos] && b[pos] <= '9' {
			pos++
		}
		return pos > start
	}
	if pos < len(b) && b[pos] == '-' {
		pos++
	}
	if pos < len(b) && b[pos] == '0' {
		pos++
	} else if !digits() {
		return -1
	}
	if pos < len(b) && b[pos] == '.' {
		pos++
		if !digits() {
			return -1
		}
	}
	if pos < len(b) && (b[pos] == 'e' || b[pos] == 'E') {
		pos++
		if pos < len(b) && (b[pos] == '+' || b[pos] == '-') {
			pos++
		}
		if !digits() {
			return -1
		}
	}
	return pos
}
