package extract

import (
	"strings"

	"github.com/loci-memory/loci"
)

func classifyPrompt(sentence string) (kind loci.MemoryType, ok bool) {
	s := lowerASCII(sentence)
	switch {
	case isDoubtful(s):
		return "", false
	case isTask(s):
		return loci.TypeTask, true
	case hasPrefixOf(s, preferenceOpenings) || containsOf(s, preferenceCues) && !containsOf(s, moods):
		return loci.TypePreference, true
	case containsOf(s, decisionCues):
		return loci.TypeDecision, true
	case hasPrefixOf(s, factOpenings) || containsOf(s, factCues):
		return loci.TypeFact, true
	}
	return "", false
}

// classifyResponse is stricter: an answer reports and advises, and states facts mostly where it was asked.
func classifyResponse(sentence string, asked bool) (kind loci.MemoryType, ok bool) {
	s := lowerASCII(sentence)
	switch {
	case isDoubtful(s):
		return "", false
	case isTask(s):
		return loci.TypeTask, true
	case containsOf(s, decisionCues) || strings.HasPrefix(s, "i decided to use "):
		return loci.TypeDecision, true
	case asked && containsOf(s, answerCues):
		return loci.TypeFact, true
	}
	return "", false
}

func isTask(s string) bool {
	return hasPrefixOf(s, taskOpenings) || containsOf(s, taskCues) ||
		containsOf(s, obligations) && containsOf(s, deadlines)
}

// isDoubtful tells of questions, hedges, hypotheticals, quotations, and sentences without their subject.
func isDoubtful(s string) bool {
	return len(s) < minSentence || strings.HasSuffix(s, "?") || containsOf(s, doubts) ||
		hasPrefixOf(s, openings) && !strings.HasPrefix(s, "it was decided")
}

func givesUp(text string) bool { return containsOf(lowerASCII(text), abandonments) }

func hasPrefixOf(s string, cues []string) bool {
	for _, cue := range cues {
		if strings.HasPrefix(s, cue) {
			return true
		}
	}
	return false
}

func containsOf(s string, cues []string) bool {
	for _, cue := range cues {
		if strings.Contains(s, cue) {
			return true
		}
	}
	return false
}
