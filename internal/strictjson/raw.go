package strictjson

import "fmt"

// maxDepth bounds the nesting of a text: more than any message needs.
const maxDepth = 1000

var errTooDeep = Error(fmt.Sprintf("the JSON text is nested deeper than %d", maxDepth))

// Raw skips the next value and returns its bytes. It only has to be JSON.
func (s *Scanner) Raw() ([]byte, error) {
	s.Next()
	start := s.pos
	err := s.skip(0)
	return s.data[start:s.pos], err
}

// RawMembers reads the next object. It calls member with each name as written, with its quotes; member reads or skips
// the value.
func (s *Scanner) RawMembers(member func(name []byte) error) error {
	return s.Items('}', func() error {
		if s.Next() != '"' {
			return s.SyntaxError()
		}
		start := s.pos
		if err := s.skipString(); err != nil {
			return err
		}
		name := s.data[start:s.pos]
		if !s.Consume(':') {
			return s.SyntaxError()
		}
		return member(name)
	})
}

// skip skips the next value, at a depth.
func (s *Scanner) skip(depth int) (err error) {
	c := s.Next()
	if (c == '{' || c == '[') && depth == maxDepth {
		return errTooDeep
	}
	switch {
	case c == '"':
		return s.skipString()
	case c == '{':
		return s.RawMembers(func([]byte) error { return s.skip(depth + 1) })
	case c == '[':
		return s.Items(']', func() error { return s.skip(depth + 1) })
	case c == '-' || '0' <= c && c <= '9':
		_, err = s.Number()
		return err
	case c == 't' && s.Literal("true"), c == 'f' && s.Literal("false"), c == 'n' && s.Literal("null"):
		return nil
	}
	return s.SyntaxError()
}

// skipString skips the next string, of any characters.
func (s *Scanner) skipString() error {
	for s.pos++; s.pos < len(s.data); {
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			return nil
		case c == '\\':
			if _, ok := s.readEscape(); !ok {
				return s.SyntaxError()
			}
		case c < ' ':
			return s.SyntaxError()
		default:
			s.pos++
		}
	}
	return s.SyntaxError()
}
