package extract

import (
	"slices"
	"strings"
)

// fillers open a clause and leave it unchanged.
var fillers = wordSet("ok okay so and but well alright right good great cool thanks thx btw fyi please pls no nope " +
	"yes yep yeah sure then also oh hey hmm ah perfect brilliant careful important actually though whoa ugh now fine " +
	"convinced agreed because sorry anyway otherwise indeed")

// normalize returns the words of a sentence in lower case, with one space between. A clause begins with "^", the
// sentence ends with "$". "#" is a number, "`" code, and "\"" a quotation, whose words are no cues.
func normalize(s string) string {
	b := append(make([]byte, 0, len(s)+len(s)/4+8), '^')
	s = strings.ReplaceAll(s, "’", "'")
	for pos := 0; pos < len(s); {
		switch c := s[pos]; {
		case c == '`' || c == '"':
			if end := strings.IndexByte(s[pos+1:], c); end >= 0 {
				b = append(b, ' ', c)
				pos += end + 1
			}
			pos++
		case strings.HasPrefix(s[pos:], "“"):
			b = append(b, " \""...)
			_, rest, _ := strings.Cut(s[pos:], "”")
			pos = len(s) - len(rest)
		case isWordByte(c):
			end := pos + 1
			for end < len(s) && (isWordByte(s[end]) || isInnerByte(s[end]) && end+1 < len(s) && isWordByte(s[end+1])) {
				end++
			}
			b = appendWord(b, s[pos:end])
			pos = end
		default:
			if isClauseEnd(s[pos:]) && b[len(b)-1] != '^' {
				b = append(b, " ^"...)
			}
			pos++
		}
	}
	return string(append(b, " $"...))
}

func appendWord(b []byte, word string) []byte {
	opens := b[len(b)-1] == '^'
	b = append(b, ' ')
	if c := word[0]; c >= '0' && c <= '9' {
		return append(b, '#')
	}
	start := len(b)
	for i := range len(word) {
		b = append(b, lowerByte(word[i]))
	}
	if opens && fillers[string(b[start:])] {
		b = append(b, " ^"...)
	}
	return b
}

func isWordByte(c byte) bool {
	return isLetter(lowerByte(c)) || c >= '0' && c <= '9' || c == '_' || c == '\'' || c >= 0x80
}

func isInnerByte(c byte) bool { return strings.IndexByte("-./@:", c) >= 0 }

func isClauseEnd(s string) bool {
	return strings.IndexByte(",;:(!", s[0]) >= 0 || strings.HasPrefix(s, "- ") || strings.HasPrefix(s, "—") ||
		strings.HasPrefix(s, "...")
}

func lowerByte(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func hasPrefixOf(s string, list []string) bool {
	return slices.ContainsFunc(list, func(p string) bool { return strings.HasPrefix(s, p) })
}

func containsOf(s string, list []string) bool {
	return slices.ContainsFunc(list, func(p string) bool { return strings.Contains(s, p) })
}
