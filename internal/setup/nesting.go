package setup

import "fmt"

// maxDepth bounds the nesting of values and the names of a key in TOML. The parsers recurse, and the time of that for
// TOML grows with the square: a file of a foreign project could stop the program.
const maxDepth = 100

var errTooDeep = fmt.Errorf("values are nested more than %d deep", maxDepth)

// A quoting lists the parts of a text in which brackets mean nothing, by their begin and end: texts and comments.
type quoting []struct {
	begin, end string
	escapes    bool // a backslash escapes the end
}

var (
	jsonQuoting = quoting{{`"`, `"`, true}, {"//", "\n", false}, {"/*", "*/", false}}
	tomlQuoting = quoting{{`"""`, `"""`, true}, {"'''", "'''", false}, {`"`, `"`, true}, {"'", "'", false},
		{"#", "\n", false}}
)

// length returns the length of the text or comment at the start, without the line end of a comment, or 0.
func (q quoting) length(text []byte) int {
	for _, part := range q {
		if !startsWith(text, part.begin) {
			continue
		}
		for at := len(part.begin); at < len(text); at++ {
			switch {
			case startsWith(text[at:], part.end) && part.end == "\n":
				return at
			case startsWith(text[at:], part.end):
				at += len(part.end)
				for extra := 0; extra < 2 && len(part.end) == 3 && startsWith(text[at:], part.end[:1]); extra++ {
					at++ // """a""""" ends with two quotes
				}
				return at
			case part.escapes && text[at] == '\\':
				at++
			}
		}
		return len(text)
	}
	return 0
}

func startsWith(text []byte, mark string) bool {
	return len(text) >= len(mark) && string(text[:len(mark)]) == mark
}

// isTooDeep reports whether a text, which may be invalid, exceeds maxDepth.
func isTooDeep(text []byte, q quoting) bool {
	depth, names := 0, 1
	for at := 0; at < len(text); at++ {
		if n := q.length(text[at:]); n > 0 {
			at += n - 1
			continue
		}
		switch text[at] {
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
		if max(depth, names) > maxDepth {
			return true
		}
	}
	return false
}
