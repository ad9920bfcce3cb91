package tomltable

import (
	"bytes"
	"strings"

	"github.com/BurntSushi/toml"
)

// A scanner finds the headers of a valid text.
type scanner struct {
	text []byte
	at   int
}

// scan returns the tables of a valid text.
func scan(text []byte) (tables []table) {
	s := &scanner{text: text}
	for s.skipWhitespace(); s.at < len(text); s.skipWhitespace() {
		if text[s.at] != '[' {
			s.statement()
			if n := len(tables); n > 0 {
				tables[n-1].end = s.at
			}
			continue
		}
		start := bytes.LastIndexByte(text[:s.at], '\n') + 1
		path := s.header()
		s.endLine()
		tables = append(tables, table{path, start, s.at})
	}
	return tables
}

// maxDepth bounds the nesting of values and the names of a key. The time of the library grows with its square: a file
// of a foreign project could stop the program.
const maxDepth = 100

// isTooDeep reports whether a text, which may be invalid, exceeds maxDepth.
func isTooDeep(text []byte) bool {
	s := &scanner{text: text}
	for depth, names := 0, 1; s.at < len(text); {
		switch text[s.at] {
		case '"', '\'':
			s.quoted()
			continue
		case '#':
			s.endLine()
			names = 1
			continue
		case '[', '{':
			depth++
			names = 1
		case ']', '}':
			depth = max(0, depth-1)
		case '=', ',', '\n':
			names = 1
		case '.':
			names++
		}
		s.at++
		if max(depth, names) > maxDepth {
			return true
		}
	}
	return false
}

// skipWhitespace passes whitespace, line ends and comments.
func (s *scanner) skipWhitespace() {
	s.at += len(bytes.TrimSuffix(s.text[s.at:], bytes.TrimPrefix(s.text[s.at:], []byte("\ufeff"))))
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		case '#':
			s.endLine()
		default:
			return
		}
	}
}

// endLine passes the rest of the line.
func (s *scanner) endLine() {
	end := bytes.IndexByte(s.text[s.at:], '\n')
	if end < 0 {
		s.at = len(s.text)
		return
	}
	s.at += end + 1
}

// header reads [a.b] or [[a.b]].
func (s *scanner) header() []string {
	start := s.at
	for depth := 0; s.at < len(s.text); {
		switch s.text[s.at] {
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				s.at++
				return pathOf(string(s.text[start:s.at]))
			}
		case '"', '\'':
			s.quoted()
			continue
		}
		s.at++
	}
	return nil
}

// pathOf returns the names of a header. The library reads them, as names may be quoted.
func pathOf(header string) (path []string) {
	var values map[string]any
	meta, err := toml.Decode(strings.ReplaceAll(strings.ReplaceAll(header, "[[", "["), "]]", "]"), &values)
	if keys := meta.Keys(); err == nil && len(keys) > 0 {
		path = keys[len(keys)-1]
	}
	return path
}

// statement reads a key with its value, up to the end of its line.
func (s *scanner) statement() {
	for depth := 0; s.at < len(s.text); {
		switch s.text[s.at] {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case '"', '\'':
			s.quoted()
			continue
		case '#':
			s.endLine()
			if depth == 0 {
				return
			}
			continue
		case '\n':
			if depth == 0 {
				s.at++
				return
			}
		}
		s.at++
	}
}

// quoted reads a text in one, or three, quotes.
func (s *scanner) quoted() {
	quote := s.text[s.at : s.at+1]
	long := bytes.Repeat(quote, 3)
	if !bytes.HasPrefix(s.text[s.at:], long) {
		s.at++
		s.upTo(quote)
		return
	}
	s.at += 3
	s.upTo(long)
	for extra := 0; extra < 2 && bytes.HasPrefix(s.text[s.at:], quote); extra++ { // """a""""" ends with two quotes
		s.at++
	}
}

// upTo passes the next mark. A backslash escapes in texts with double quotes.
func (s *scanner) upTo(mark []byte) {
	for s.at < len(s.text) {
		switch {
		case bytes.HasPrefix(s.text[s.at:], mark):
			s.at += len(mark)
			return
		case mark[0] == '"' && s.text[s.at] == '\\':
			s.at++
		}
		s.at++
	}
	s.at = len(s.text)
}
