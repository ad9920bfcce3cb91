package secret

import "strings"

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
