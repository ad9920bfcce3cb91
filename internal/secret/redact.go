package secret

import (
	"maps"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
)

// Redact returns the text with each secret replaced by [REDACTED:rule], and the secrets at their places in the original
// text. Scan finds nothing in the returned text.
func Redact(text string) (string, []Finding) {
	found := Scan(text)
	if len(found) == 0 {
		return text, nil
	}
	var b strings.Builder
	b.Grow(len(text))
	done := 0
	for _, f := range found {
		b.WriteString(text[done:f.From] + "[REDACTED:" + f.Rule + "]")
		done = f.To
	}
	b.WriteString(text[done:])
	return b.String(), found
}

// A Counter redacts texts, and counts by rule what it found.
type Counter map[string]int

// Redact returns the text with its secrets replaced.
func (c Counter) Redact(text string) string {
	text, found := Redact(text)
	for _, f := range found {
		c[f.Rule]++
	}
	return text
}

// Counts returns the counts, sorted by rule.
func (c Counter) Counts() (all []loci.RedactionCount) {
	for _, rule := range slices.Sorted(maps.Keys(c)) {
		all = append(all, loci.RedactionCount{Rule: loci.RuleName(rule), Count: loci.Count(c[rule])})
	}
	return all
}
