package extract

import "strings"

var agreements = []string{"yes", "yep", "yeah", "agreed", "sounds good", "do it", "do that", "sure", "perfect",
	"go ahead", "let's do", "ok, do", "okay, do", "good idea", "option "}

var reservations = []string{" but ", " not ", "don't", "?", "only", "right", "no,", "maybe", "later"}

var proposals = []string{"i propose", "i suggest", "proposal:", "i recommend", "i would recommend", "we should ",
	"i'd go with", "i would take", "i would use", "recommend we", "i'd use"}

var offers = []string{"should i ", "shall i ", "shall we ", "should we "}

// offeredActs are the first words of an offer that concerns this turn alone.
var offeredActs = wordSet("push delete remove run start commit create open show continue fix merge rerun draft write")

func agrees(sentence string) bool {
	s := lowerASCII(sentence)
	return hasPrefixOf(s, agreements) && !containsOf(s, reservations)
}

// proposal returns what the answer before the prompt proposed, or nothing.
func proposal(previous, agreement string) string {
	text := visibleLines(previous)
	if _, number, ok := strings.Cut(lowerASCII(agreement), "option "); ok && number != "" {
		return optionOf(text, number[:1])
	}
	for _, one := range sentences(text) {
		s := one.text
		lower := lowerASCII(s)
		if containsOf(lower, proposals) && !strings.HasSuffix(s, "?") {
			return s
		}
		for _, cue := range offers {
			rest, ok := strings.CutPrefix(lower, cue)
			if first, _, _ := strings.Cut(rest, " "); ok && !offeredActs[first] {
				own := strings.TrimSuffix(s[len(cue):], "?") + "."
				return capitalize(own)
			}
		}
	}
	return ""
}

// optionOf returns the item of a list with that number.
func optionOf(text, number string) string {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, number+". "); ok && len(rest) <= maxSentence {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// capitalize raises a first letter of ASCII.
func capitalize(s string) string {
	if !isLetter(s[0]) {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
