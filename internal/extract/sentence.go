package extract

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A sentence is one of a prompt or of an answer, with the line that heads its list or leads its paragraph.
type sentence struct {
	text, heading, lead string
	isItem              bool     // of a list
	words               []string // as normalize returns them; empty until read
	features            vector
}

// sentences splits visible lines into sentences, and leaves out those that are too long or not of English.
func sentences(text string) (list []sentence) {
	var above headings
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		bare, isItem := withoutMarks(line)
		above.enter(line, isItem)
		for rest := bare; rest != ""; {
			end := sentenceEnd(rest)
			if s := strings.TrimSpace(rest[:end]); isReadable(s) {
				list = append(list, sentence{text: s, heading: above.heading, lead: above.lead, isItem: isItem})
			}
			rest = rest[end:]
		}
		above.leave(line)
	}
	return list
}

// headings follow the line that heads a list, and the one that leads a paragraph or list with a colon.
type headings struct {
	heading, lead string
	isLed         bool // a line below the lead was read
}

func (h *headings) enter(line string, isItem bool) {
	if !isItem && line != "" {
		h.heading = ""
	}
	if line == "" && h.isLed {
		h.lead, h.isLed = "", false
	}
	h.isLed = h.isLed || line != "" && h.lead != ""
}

func (h *headings) leave(line string) {
	if len(line) > maxSentence {
		return
	}
	if strings.HasSuffix(line, ":") {
		h.lead, h.isLed = lowerASCII(line), false
	}
	if strings.HasSuffix(line, ":") || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "**") {
		h.heading = lowerASCII(line)
	}
}

// withoutMarks removes the marks of lists, headings and emphasis from a line.
func withoutMarks(line string) (bare string, isItem bool) {
	bare = strings.TrimLeft(line, "-*#•[] ")
	isItem = len(bare) < len(line) && strings.IndexByte("-*", line[0]) >= 0 && strings.HasPrefix(line[1:], " ") ||
		strings.HasPrefix(line, "• ")
	if n := numberLen(bare); n > 0 {
		bare, isItem = bare[n:], true
	}
	return strings.ReplaceAll(bare, "**", ""), isItem
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

var abbreviations = []string{"e.g", "i.e", "etc", "vs", "approx", "incl", "resp", "no", "cf"}

// wideStops end a sentence of Chinese or Japanese, without a space behind them.
var wideStops = []string{"。", "！", "？"}

// germanMonths follow the stop of an ordinal: "am 3. Mai".
var germanMonths = strings.Fields("Januar Februar März April Mai Juni Juli August September Oktober November Dezember")

// isDayOfMonth reports whether a stop is that of an ordinal before a German month.
func isDayOfMonth(line string, stop int) bool {
	return stop > 0 && isDigit(line[stop-1]) && hasPrefixOf(line[stop+2:], germanMonths)
}

// sentenceEnd returns the end of the first sentence of a line.
func sentenceEnd(line string) int {
	for i := range len(line) - 1 {
		if line[i] >= utf8.RuneSelf && hasPrefixOf(line[i:], wideStops) {
			return i + len(wideStops[0])
		}
		if strings.IndexByte(".!?", line[i]) < 0 || line[i+1] != ' ' || line[i] == '.' && isDayOfMonth(line, i) {
			continue
		}
		word := line[strings.LastIndexByte(line[:i], ' ')+1 : i]
		if line[i] != '.' || !slices.Contains(abbreviations, strings.TrimLeft(lowerASCII(word), "(")) {
			return i + 1
		}
	}
	return len(line)
}

// isReadable reports whether most bytes of a sentence are ASCII. Agreement may be short, so there is no least length.
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

// resemble reports whether two thirds of the words of the shorter sentence are in the other.
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
