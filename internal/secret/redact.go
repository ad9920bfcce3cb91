package secret

import "strings"

// Redact returns the text with [REDACTED:rule] in the place of each secret, and
// the secrets as they stood in the text. Scan finds nothing in what it returns.
func Redact(text string) (string, []Finding) {
	found := Scan(text)
	if len(found) == 0 {
		return text, nil
	}
	var b strings.Builder
	b.Grow(len(text))
	done := 0
	for _, f := range found {
		b.WriteString(text[done:f.From])
		b.WriteString("[REDACTED:")
		b.WriteString(f.Rule)
		b.WriteByte(']')
		done = f.To
	}
	b.WriteString(text[done:])
	return b.String(), found
}
