package extract

import "strings"

// agreements are the first words of a prompt that agrees, as normalize returns them.
var agreements = padded("yes|yep|yeah|yup|agreed|i agree|sounds good|sounds great|sounds fine|do it|do that|do so|" +
	"sure|perfect|go ahead|go for it|go with it|go with that|let's do|lets do|good idea|great idea|option #|option|" +
	"exactly|makes sense|that makes sense|that works|works for me|fine by me|fine with me|ok|okay|k|lgtm|please do|" +
	"absolutely|definitely|of course|deal|correct|approved|ship it|love it|i like it|i like that|right|fine|great|" +
	"alright|good|make it so|be it|let's go|lets go|the first|the second|the latter|the former|true|yes please|" +
	"as you suggest|as you propose|your suggestion|your proposal|you're right|all right|cool|nice|excellent")

// reservations are words with which a prompt does not agree without condition.
var reservations = padded("but|not|don't|only|no|maybe|later|except|however|wait|instead|first let|why|what|how|" +
	"without|unless|if|hold|yet|thanks|thank|looks|rather")

var proposals = padded("i propose|i suggest|i'd suggest|i would suggest|i recommend|i'd recommend|i would|i'd|" +
	"proposal|my suggestion|my recommendation|recommendation|suggestion|we should|we'd|recommend|suggest|propose|" +
	"my pick|my vote|my advice|best option|best way|best fix|cleanest|simplest|safest|easiest|better to|plan is|" +
	"my plan|the plan|would be to|i'd say|i'd vote|makes sense to|my preference|my favourite|my favorite")

var doubts = padded("maybe|might|perhaps")

// sequels open a sentence that continues the proposal before it.
var sequels = []string{"^ we'd ", "^ i'd ", "^ we would ", "^ we ", "^ then ", "^ i'll "}

var offers = []string{"should i ", "shall i ", "shall we ", "should we ", "do you want me to ", "want me to ",
	"would you like me to ", "do we want to ", "ok if i ", "ok to ", "okay if i ", "may i ", "can i ", "how about ",
	"what about "}

// confirmations end an answer that proposes without a word of proposal.
var confirmations = []string{"do it?", "do that?", "go ahead", "ok with you", "okay with you", "in mind?", "proceed",
	"agree", "sound good", "sounds good", "make sense", "fine with you", "works for you", "work for you", "all right",
	"ok?", "okay?", "alright?", "go for it", "go with that", "your approval", "good with you", "apply it", "objections"}

// offeredActs are the first words of an offer that concerns this turn alone.
var offeredActs = wordSet("also push delete remove run start commit create open show continue fix merge rerun draft " +
	"write go proceed look check try prepare explain do apply send deploy release tag revert undo rebase finish " +
	"clean update investigate dig take rename list print implement test add")

// agrees reports whether the first sentence of a prompt is a short agreement.
func (s sentence) agrees() bool {
	words := strings.NewReplacer("^ ", "", " $", "", "why not", "sure").Replace(strings.Join(s.words, " "))
	text := " " + words + " "
	return len(s.words) < 12 && !strings.HasSuffix(s.text, "?") && !containsOf(text, reservations) &&
		(hasPrefixOf(text, agreements) || s.text == "+1" || strings.HasPrefix(s.text, "👍"))
}

// padded returns the words of a list, each between spaces.
func padded(list string) (words []string) {
	for w := range strings.SplitSeq(list, "|") {
		words = append(words, " "+w+" ")
	}
	return words
}

// proposal returns what the answer before the prompt proposed, or nothing.
func proposal(previous, agreement string) string {
	text := visibleLines(previous)
	if overridesRules(text) {
		return ""
	}
	if item := optionOf(text, lowerASCII(agreement)); item != "" {
		return item
	}
	list := sentences(text)
	for n, s := range list {
		words := normalize(s.text)
		if !strings.HasSuffix(s.text, "?") && containsOf(words, proposals) && !containsOf(words, doubts) {
			return withSequel(list[n:])
		}
	}
	for _, s := range list {
		if own := offered(s.text); own != "" {
			return own
		}
	}
	if last := len(list) - 1; last > 0 && last < 4 && containsOf(lowerASCII(list[last].text), confirmations) {
		return list[0].text
	}
	return ""
}

// withSequel joins a proposal with the next sentence where that continues it.
func withSequel(list []sentence) string {
	text := list[0].text
	if len(list) > 1 && len(text)+len(list[1].text) < maxSentence && !strings.HasSuffix(list[1].text, "?") &&
		hasPrefixOf(normalize(list[1].text), sequels) {
		return text + " " + list[1].text
	}
	return text
}

// offered returns the act that a question offers, unless it concerns this turn alone.
func offered(s string) string {
	lower := lowerASCII(s)
	for _, cue := range offers {
		n := strings.Index(lower, cue)
		if n < 0 || n > 0 && lower[n-1] != ' ' || !strings.HasSuffix(s, "?") {
			continue
		}
		rest := strings.TrimSuffix(s[n+len(cue):], "?")
		if first, _, _ := strings.Cut(lowerASCII(rest), " "); offeredActs[first] || strings.TrimSpace(rest) == "" {
			return ""
		}
		return capitalize(rest) + "."
	}
	return ""
}

var ordinals = map[string]int{"1": 0, "a": 0, "first": 0, "former": 0, "2": 1, "b": 1, "second": 1, "latter": 1, "3": 2,
	"c": 2, "third": 2, "4": 3, "d": 3, "fourth": 3, "5": 4, "e": 4, "fifth": 4}

// optionOf returns the item of a list that a choice names: "option 2", "the second".
func optionOf(text, choice string) string {
	before := ""
	for w := range strings.FieldsSeq(choice) {
		n, ok := ordinals[strings.Trim(w, ".,!")]
		if ok && (before == "option" || before == "number" || before == "the") {
			return itemOf(text, n)
		}
		before = w
	}
	return ""
}

// itemOf returns the text of the n-th item of a list, counted from zero.
func itemOf(text string, n int) string {
	marks := []string{string(rune('1'+n)) + ". ", string(rune('1'+n)) + ") ", string(rune('A'+n)) + ") ",
		string(rune('A'+n)) + ". ", string(rune('a'+n)) + ") ", "(" + string(rune('a'+n)) + ") "}
	for line := range strings.Lines(text) {
		for _, mark := range marks {
			if rest, ok := strings.CutPrefix(strings.TrimLeft(line, "-* "), mark); ok && len(rest) <= maxSentence {
				return strings.TrimSpace(rest)
			}
		}
	}
	return ""
}

// capitalize raises a first letter of ASCII.
func capitalize(s string) string {
	if s == "" || !isLetter(s[0]) {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
