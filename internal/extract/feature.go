package extract

import "strings"

// features of shape and place, beside those of the table of cues.
const (
	isShort = iota // fewer than 5 words
	hasNumber
	hasCode
	hasName
	hasColon
	hasQuote
	isListed
	isOnly // sentence of its text
	isFirst
	isLast
	isOrder
	isReport
	isDeclared
	isStanding // order
	isShortChoice
	isPassive
	hasVerb // of the third person before a noun: "holds the"
	isFragment
	isOnTopic
	underOpen
	underRules
	askedStatus
	askedFact
	askedHow
	askedNothing
	inPrompt
	inResponse
	shapes
)

var shapeNames = [shapes]string{"short", "number", "code", "name", "colon", "quote", "listed",
	"only sentence", "first", "last", "order", "report", "declared", "standing", "short choice", "passive",
	"verb", "fragment", "on topic", "under open", "under rules", "asked status", "asked fact", "asked how", "asked nothing", "in prompt",
	"in response"}

var (
	openHeadings = []string{"open", "not done", "todo", "to do", "remain", "missing", "left", "next", "follow", "outstanding",
		"later", "pending"}
	doneHeadings     = []string{"done", "finished", "fixed", "changed", "added", "complete"}
	ruleHeadings     = []string{"rule", "prefer", "convention", "style", "always", "please", "remember", "how i"}
	decisionHeadings = []string{"decision", "decided", "agreed", "settled", "chose", "conclusion"}
	statusCues       = []string{" left", "remain", " open", "status", "recap", "stand", "missing", "todo", "progress",
		"outstanding", "finished", "next step", "summar", "blocked"}
	factQuestions = []string{"where", "which", "who", "does the", "do we", "is the", "are the", "what's the", "is our",
		"do our", "does our", "whats the", "what is the", "is it documented", "are we", "is there", "are there", "have we"}
	howQuestions     = []string{"why", "how", "what happens", "what if", "can i", "can we", "can you see", "what's stopping"}
	genericQuestions = []string{"what is a", "what does '", "is it true", "explain ", "difference", "in go", "in python",
		"support", "in numpy", "again", "how do you", "tell me a bit", "how do i "}
)

// A lexicon maps each phrase, and each of its beginnings, to the cues that have it.
type entry struct {
	cues   []int
	isMore bool
}

var lexicon = makeLexicon()

func makeLexicon() map[string]entry {
	lex := map[string]entry{}
	for n, c := range cues {
		for _, phrase := range strings.Split(c.phrases, "|") {
			phrase = strings.TrimSpace(phrase)
			for i := range len(phrase) {
				if phrase[i] == ' ' {
					e := lex[phrase[:i]]
					e.isMore = true
					lex[phrase[:i]] = e
				}
			}
			e := lex[phrase]
			e.cues = append(e.cues, n)
			lex[phrase] = e
		}
	}
	return lex
}

// A vector holds the features of a sentence: those of cues, then those of shape.
type vector []bool

func featureNames() (names []string) {
	for _, c := range cues {
		names = append(names, c.name)
	}
	return append(names, shapeNames[:]...)
}

func (v vector) markCues(words string) {
	eachPhrase(words, func(phrase string) {
		for _, c := range lexicon[phrase].cues {
			v[c] = true
		}
	})
}

// eachPhrase visits the phrases of the lexicon in words.
func eachPhrase(words string, visit func(phrase string)) {
	for start := 0; start < len(words); {
		next := 0
		for end := start; end < len(words); end++ {
			if n := strings.IndexByte(words[end:], ' '); n >= 0 {
				end += n
			} else {
				end = len(words)
			}
			if next == 0 {
				next = end + 1
			}
			e, ok := lexicon[words[start:end]]
			if ok && len(e.cues) > 0 {
				visit(words[start:end])
			}
			if !e.isMore {
				break
			}
		}
		start = next
	}
}

func (v vector) shape(n int, is bool) { v[len(cues)+n] = is }

// A setting is what surrounds the sentences of a text.
type setting struct {
	prompt     string // in lower case; empty where the text is the prompt itself
	topic      map[string]bool
	isResponse bool
	count      int // of sentences
}

func newSetting(prompt string, isResponse bool, count int) setting {
	return setting{prompt: lowerASCII(prompt), topic: contentWords(prompt), isResponse: isResponse, count: count}
}

// featuresOf returns the features of the n-th sentence of a text. It returns nothing for a question, or for another
// language than English.
func featuresOf(s sentence, n int, in setting) vector {
	words := normalize(s.text)
	fields := strings.Fields(words)
	head := headOf(fields)
	if strings.HasSuffix(s.text, "?") || questionWords[head] && !in.isResponse && !strings.Contains(s.text, ": ") ||
		isForeign(fields) {
		return nil
	}
	v := make(vector, len(cues)+int(shapes))
	v.markCues(words)
	v.shape(isShort, len(fields) < 7)
	v.shape(hasNumber, strings.Contains(words, " # "))
	v.shape(hasCode, strings.Contains(words, " ` "))
	v.shape(hasQuote, strings.Contains(words, " \" "))
	v.shape(hasName, hasCapital(s.text))
	v.shape(hasColon, strings.Contains(s.text, ": "))
	v.shape(isListed, s.isItem)
	v.shape(isOnly, in.count == 1)
	v.shape(isFirst, n == 0 && in.count > 1)
	v.shape(isLast, n == in.count-1 && in.count > 1)
	order := imperatives[head] || head == "let's" || head == "lets"
	report := reportVerbs[head] || len(head) > 3 && strings.HasSuffix(head, "ed")
	v.shape(isOrder, order)
	v.shape(isReport, report)
	v.shape(isDeclared, !order && !report && v.hasAny("is", "has", "stative", "must", "can't") &&
		!v.hasAny("symptom", "hedge", "hypothetical", "past", "pronoun", "ask", "told"))
	v.shape(isStanding, (order || v.hasAny("stop")) && !v.hasAny("now", "hedge") &&
		v.hasAny("lasting", "always", "only", "all", "taste", "agent"))
	v.shape(isShortChoice, len(fields) < 9 && v.hasAny("elliptic"))
	v.shape(isPassive, anyPair(fields, passive))
	v.shape(hasVerb, anyPair(fields, thirdPerson))
	v.shape(isFragment, !order && !report && !v.hasAny("is", "has", "stative", "must", "can't", "choose", "past", "told") &&
		!anyPair(fields, thirdPerson))
	v.markHeading(s.heading)
	v.shape(inPrompt, !in.isResponse)
	if in.isResponse {
		v.shape(inResponse, true)
		v.shape(isOnTopic, sharesWord(s.text, in.topic))
		v.markQuestion(in.prompt)
	}
	return v
}

func (v vector) hasAny(names ...string) bool {
	for _, name := range names {
		if v[featureIndex[name]] {
			return true
		}
	}
	return false
}

func (v vector) markHeading(heading string) {
	if heading == "" {
		return
	}
	isOpen := containsOf(heading, openHeadings)
	v.shape(underOpen, isOpen)
	v.shape(underRules, containsOf(heading, ruleHeadings))
}

func (v vector) markQuestion(prompt string) {
	v.shape(askedStatus, containsOf(prompt, statusCues))
	v.shape(askedFact, containsOf(prompt, factQuestions))
	v.shape(askedHow, containsOf(prompt, howQuestions))
	v.shape(askedNothing, !strings.Contains(prompt, "?") && !containsOf(prompt, factQuestions) &&
		!containsOf(prompt, howQuestions))
}

var featureIndex = func() map[string]int {
	index := map[string]int{}
	for n, name := range featureNames() {
		index[name] = n
	}
	return index
}()

// headOf returns the first word that is no filler.
func headOf(words []string) string {
	for n, w := range words {
		if w != "^" && w != "$" && !(n > 0 && words[n-1] == "^" && fillers[w]) {
			return w
		}
	}
	return ""
}

func isForeign(words []string) bool {
	count := 0
	for _, w := range words {
		if foreignWords[w] {
			count++
		}
	}
	return count > 1 || count == 1 && len(words) < 8
}

// hasCapital tells whether a word after the first begins with a capital letter, as names do.
func hasCapital(s string) bool {
	for i := 2; i < len(s); i++ {
		if s[i] >= 'A' && s[i] <= 'Z' && s[i-1] == ' ' && s[i-2] != '.' && (i+1 == len(s) || s[i+1] != ' ' && s[i+1] != '\'') {
			return true
		}
	}
	return false
}

func anyPair(words []string, is func(first, second string) bool) bool {
	for n := range len(words) - 1 {
		if is(words[n], words[n+1]) {
			return true
		}
	}
	return false
}

var auxiliaries = wordSet("is are be been being gets get isn't aren't never always only not")

func passive(first, second string) bool {
	return auxiliaries[first] && len(second) > 4 && (strings.HasSuffix(second, "ed") || strings.HasSuffix(second, "en"))
}

var determiners = wordSet("the a an its our their no all every each any only two three both ` # \" nothing whatever")

func thirdPerson(first, second string) bool {
	return len(first) > 3 && strings.HasSuffix(first, "s") && !strings.HasSuffix(first, "ss") && !strings.HasSuffix(first, "'s") &&
		first != "this" && first != "does" && first != "always" && first != "was" && first != "has" && determiners[second]
}

func sharesWord(text string, topic map[string]bool) bool {
	for w := range contentWords(text) {
		if len(w) > 3 && topic[w] {
			return true
		}
	}
	return false
}
