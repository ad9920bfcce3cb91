package extract

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
)

// generalWords change with the wording of a statement, and not with its meaning. Negations and numbers are not among
// them: they make another statement.
var generalWords = wordSet("note notes noted before earlier remember remembered remind reminder recall recap " +
	"already known know fact keep keeps keeping kept store stored run runs running live lives go goes going " +
	"take takes make makes made put set have has had get gets got want wants like one thing also still just so " +
	"then here there all per into onto via through our us they them their he she his her what which who when " +
	"where how can may do does did been being am was were if about under more most very much well ok okay " +
	"please let lets agreed agree chose choose chosen pick picked settled settle plan remain remains stay " +
	"stays always right current currently today you your yes according memory memories context mentioned " +
	"mention mentioned told confirmed confirm understood stick sticking sticks decision decisions preference " +
	"prefer prefers preferred preferring team recorded record established previous previously since because " +
	"given due need needs needed must needing hosted host ll re ve ca wo any anymore longer only time last " +
	"continue again sure saved listed says say me stand stands these those both each every not todo someone somebody")

// negations turn the words behind them around, up to the end of the clause. So do comparisons: what is on which side of
// them matters.
var negations = wordSet("not no never nor neither cannot without except unless dont doesnt isnt arent " +
	"wont avoid avoids stop stops stopped drop drops dropped remove removed ban banned forbid forbidden " +
	"disable disabled against over instead rather than versus after")

// numerals are numbers as words. "One" is a general word more often.
var numerals = map[string]string{"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7",
	"eight": "8", "nine": "9", "ten": "10", "twelve": "12"}

// Words returns the words of a sentence that carry its meaning, as a query.
func Words(sentence string) string {
	list := strings.FieldsFunc(sentence, func(r rune) bool { return !isWordRune(r) })
	kept := list[:0]
	for _, w := range list {
		if lower := lowerASCII(w); !commonWords[lower] && !generalWords[lower] {
			kept = append(kept, w)
		}
	}
	return strings.Join(kept, " ")
}

// Repeats reports whether a sentence of a text says what a statement says, in other words too. Each word of the
// statement is in the sentence on the same side of a negation, unless it is general. Numbers are in the same order. A
// line that equals the statement repeats it in any language.
func Repeats(statement, text string) bool { return Repeater(statement)(text) }

// Repeater returns Repeats of a statement, for many texts.
func Repeater(statement string) func(text string) bool {
	whole := statement
	statement, day := cutDay(statement)
	said := meaningOf(statement)
	return func(text string) bool {
		for line := range strings.Lines(text) {
			if strings.TrimSpace(line) == whole {
				return true
			}
		}
		if len(said.words) == 0 || !said.mayBeIn(text) {
			return false
		}
		for _, s := range sentences(text) {
			known, knownDay := cutDay(s.text)
			if isSameWeek(day, knownDay) && said.isPartOf(meaningOf(known)) {
				return true
			}
		}
		return false
	}
}

// A meaning is what a sentence says: its stems, with a mark on those that are negated, and its numbers in order.
type meaning struct {
	words   map[string]bool
	numbers []string
}

// mayBeIn reports whether a text has the beginnings of all words. It is much faster than isPartOf.
func (m meaning) mayBeIn(text string) bool {
	text = lowerASCII(text)
	for w := range m.words {
		w = strings.TrimPrefix(w, negated)
		if n := min(3, len(w)-1); !isDigit(w[0]) && n > 0 && !strings.Contains(text, w[:n]) {
			return false
		}
	}
	return true
}

// isPartOf reports whether another sentence says all of a meaning. A single word is part of many other statements, so
// the other sentence must hardly say more.
func (m meaning) isPartOf(other meaning) bool {
	if len(m.words) == 1 && len(other.words) > 2 {
		return false
	}
	for w := range m.words {
		if !other.words[w] {
			return false
		}
	}
	rest := other.numbers
	for _, n := range m.numbers {
		i := slices.Index(rest, n)
		if i < 0 {
			return false
		}
		rest = rest[i+1:]
	}
	return true
}

var (
	// phrases that say nothing, and contracted negations
	phrases = strings.NewReplacer("don't forget", " ", "don’t forget", " ", "do not forget", " ", "never forget", " ",
		"next step is", " ", "from now on", " ", "from here on", " ", "from then on", " ",
		"n't", " not", "n’t", " not")
	// what an agent does because of the statement before it
	ownDeed = regexp.MustCompile(`, (so|and) (i|i'll|i've|i'm) `)
	// a word, a number such as 1.2 or 10:30, or the end of a clause
	token = regexp.MustCompile(`[0-9]+(?:[.:/][0-9]+)*[a-z]*|[\pL\pN_]+|[,;:()—–]| - `)
)

const negated = "!"

// meaningOf returns the meaning of a sentence.
func meaningOf(sentence string) meaning {
	text := phrases.Replace(lowerASCII(sentence))
	if at := ownDeed.FindStringIndex(text); at != nil {
		text = text[:at[0]]
	}
	tokens := token.FindAllString(text, -1)
	m, mark := meaning{words: map[string]bool{}}, ""
	for i, t := range tokens {
		w := strings.Trim(t, "_")
		switch {
		case w == "" || endsClause(w):
			mark = ""
			continue
		case negations[w], w == "before" && comparesTimes(tokens[:i]):
			mark = negated
		case w == "from" && slices.Contains(tokens[i:], "to"), strings.HasPrefix(w, "replac"):
			mark = negated // what is left
		case (w == "to" || w == "with") && leaves(tokens[:i]):
			mark = ""
		}
		m.add(w, mark)
	}
	return m
}

func endsClause(token string) bool {
	return token == "but" || strings.ContainsAny(token, ",;:()—– ") && !isDigit(token[0])
}

// comparesTimes reports whether "before" compares what stands before it, unlike in "as noted before".
func comparesTimes(previous []string) bool {
	return len(previous) > 0 && !generalWords[previous[len(previous)-1]] && !commonWords[previous[len(previous)-1]]
}

// leaves reports whether what stands before "to" or "with" is left or replaced.
func leaves(previous []string) bool {
	return slices.ContainsFunc(previous, func(w string) bool { return w == "from" || strings.HasPrefix(w, "replac") })
}

// add adds a word, unless it is general.
func (m *meaning) add(w, mark string) {
	if digits := numerals[w]; digits != "" {
		w = digits
	}
	if len(w) == 1 && !isDigit(w[0]) || commonWords[w] || generalWords[w] || negations[w] {
		return
	}
	w = stem(w)
	if m.words[mark+w] = true; isDigit(w[0]) {
		m.numbers = append(m.numbers, w)
	}
}

// stem returns a word without its ending, the same for singular and plural, and for the forms of most verbs.
func stem(w string) string {
	if isDigit(w[0]) || len(w) < 4 {
		return strings.TrimSuffix(w, "s")
	}
	if rest, ok := strings.CutSuffix(w, "ies"); ok {
		return rest + "y"
	}
	w = strings.TrimSuffix(w, "s")
	for _, ending := range []string{"ing", "ed"} {
		if rest, ok := strings.CutSuffix(w, ending); ok && len(rest) > 2 {
			w = rest
			if n := len(w); w[n-1] == w[n-2] && w[n-1] != 's' && w[n-1] != 'l' {
				w = w[:n-1]
			}
			break
		}
	}
	return strings.TrimSuffix(w, "e")
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// saidDay is the mark of markDay.
var saidDay = regexp.MustCompile(` ?\(said (\d{4}-\d\d-\d\d)\)`)

// cutDay removes the mark of the day on which a sentence was said, and returns that day.
func cutDay(sentence string) (rest string, day time.Time) {
	if found := saidDay.FindStringSubmatch(sentence); found != nil {
		day, _ = time.Parse(time.DateOnly, found[1]) // an invalid day is none
	}
	return saidDay.ReplaceAllString(sentence, ""), day
}

// isSameWeek reports whether a relative date said on both days is the same, as "by Friday" is within a week.
func isSameWeek(a, b time.Time) bool {
	return a.IsZero() || b.IsZero() || a.Sub(b).Abs() < 7*24*time.Hour
}

func isWordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-'
}
