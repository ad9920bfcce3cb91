package secrettest

import (
	"math/rand/v2"
	"strings"
)

// SixtySamples returns 60 texts with a credential of different formats, which are the same at each call.
func SixtySamples() (list []Sample) {
	all := RandomSamples(rand.New(rand.NewPCG(16, 6)))
	for i := range 60 {
		list = append(list, all[i*len(all)/60])
	}
	return list
}

// FindPart looks in a text for the beginning of the longest line of the sample's credential: a part must not be kept
// either. It returns the text around it, or "".
func (s Sample) FindPart(text string) string {
	longest := ""
	for line := range strings.Lines(s.Secret()) {
		if line = strings.TrimSpace(line); len(line) > len(longest) {
			longest = line
		}
	}
	part := longest[:min(16, len(longest))]
	i := strings.Index(text, part)
	if i < 0 {
		return ""
	}
	return text[max(0, i-60):min(len(text), i+len(part)+20)]
}
