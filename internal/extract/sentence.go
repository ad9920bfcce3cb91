package extract

import (
	"strings"
	"unicode/utf8"
)

// sentences splits visible lines into sentences, and leaves out those that are too long, short or not of English.
func sentences(text string) (list []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(strings.TrimSpace(line), "-*# ")
		start := 0
		for i := range len(line) {
			if i+1 < len(line) && (!strings.ContainsRune(".!?", rune(line[i])) || line[i+1] != ' ') {
				continue
			}
			if s := strings.TrimSpace(line[start : i+1]); isReadable(s) {
				list = append(list, s)
			}
			start = i + 1
		}
	}
	return list
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

func isQuestion(prompt string) bool { return strings.Contains(prompt, "?") }

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

var commonWords = wordSet("a an the we our us i my you it its is are be to of for in on as and or at by with from " +
	"now " +
	"decided decision use uses used using that this will shall should said service")

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
