package extract

import (
	"strings"
	"unicode/utf8"
)

// sentences splits visible lines into sentences, and leaves out those that are too long or not of English.
func sentences(text string) (list []sentence) {
	heading, lead, isLed := "", "", false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" && isLed {
			lead, isLed = "", false
		}
		bare := strings.TrimLeft(line, "-*#•[] ")
		isItem := len(bare) < len(line) && strings.IndexByte("-*•", line[0]) >= 0 && strings.HasPrefix(line[1:], " ")
		if n := numberLen(bare); n > 0 {
			bare, isItem = bare[n:], true
		}
		if !isItem && line != "" {
			heading = ""
		}
		bare = strings.ReplaceAll(bare, "**", "")
		for rest := bare; rest != ""; {
			end := sentenceEnd(rest)
			if s := strings.TrimSpace(rest[:end]); isReadable(s) {
				list = append(list, sentence{text: s, heading: heading, lead: lead, isItem: isItem})
			}
			rest = rest[end:]
		}
		isLed = isLed || line != "" && lead != ""
		if strings.HasSuffix(line, ":") {
			lead, isLed = lowerASCII(line), false
		}
		if isHeading(line) {
			heading = lowerASCII(bare)
		}
	}
	return list
}

// numberLen returns the length of "1. " or "1) " at the start of a line.
func numberLen(line string) int {
	n := 0
	for n < len(line) && line[n] >= '0' && line[n] <= '9' {
		n++
	}
	if n == 0 || n > 3 || n+2 > len(line) || line[n] != '.' && line[n] != ')' || line[n+1] != ' ' {
		return 0
	}
	return n + 2
}

func isHeading(line string) bool {
	return strings.HasSuffix(line, ":") || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "**")
}

var abbreviations = []string{"e.g", "i.e", "etc", "vs", "approx", "incl", "resp", "no", "cf"}

// sentenceEnd returns the end of the first sentence of a line.
func sentenceEnd(line string) int {
	for i := range len(line) - 1 {
		if strings.IndexByte(".!?", line[i]) < 0 || line[i+1] != ' ' {
			continue
		}
		word := line[strings.LastIndexByte(line[:i], ' ')+1 : i]
		if line[i] != '.' || !hasWord(abbreviations, strings.TrimLeft(lowerASCII(word), "(")) {
			return i + 1
		}
	}
	return len(line)
}

func hasWord(list []string, word string) bool {
	for _, w := range list {
		if w == word {
			return true
		}
	}
	return false
}

// isReadable tells whether most bytes of a sentence are ASCII. Agreement may be short, so there is no least length.
func isReadable(s string) bool {
	if s == "" || len(s) > maxSentence || !utf8.ValidString(s) {
		return false
	}
	foreign := 0
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			foreign++
		}
	}
	return foreign*10 <= len(s)
}

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

var commonWords = wordSet("a an the we our us i my you it its is are be to of for in on as and or at by with from " +
	"now decided decision use uses used using that this will shall should said service")

// contentWords returns the words of a sentence that carry its meaning, without endings.
func contentWords(s string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.FieldsFunc(lowerASCII(s), func(r rune) bool {
		return r < utf8.RuneSelf && (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_'
	}) {
		if !commonWords[w] {
			set[strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(w, "ing"), "ed"), "s")] = true
		}
	}
	return set
}

// resemble tells whether two thirds of the words of the shorter sentence are in the other.
func resemble(a, b map[string]bool) bool {
	if len(b) < len(a) {
		a, b = b, a
	}
	shared := 0
	for w := range a {
		if b[w] {
			shared++
		}
	}
	return shared*3 >= len(a)*2
}
