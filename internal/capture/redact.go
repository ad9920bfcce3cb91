package capture

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/fence"
	"github.com/loci-memory/loci/internal/secret"
)

// A redactor redacts the texts of one event and counts what each rule found.
type redactor map[string]int

func (r redactor) redact(text string) string {
	text, found := secret.Redact(text)
	for _, f := range found {
		r[f.Rule]++
	}
	return text
}

// maxScanned bounds the text that is scanned: more than an event's content has room for, so that no credential is cut
// where the content ends.
const (
	maxScanned = 2 * loci.MaxEventContent
	maxToken   = 8 << 10
)

// content returns a text without quotations of memories and credentials, within the limit of an event.
func (r redactor) content(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "\u2400")
	text = fence.Strip(text)
	if len(text) > maxScanned { // ends between words: a half of a credential is not recognized
		text = text[:maxScanned]
		if at := strings.LastIndexAny(text, " \t\n"); at > maxScanned-maxToken {
			text = text[:at]
		} else {
			text = text[:maxScanned-maxToken]
		}
		text = strings.ToValidUTF8(text, "")
	}
	return strings.TrimSpace(cut(strings.TrimSpace(r.redact(text)), loci.MaxEventContent))
}

// line returns a text as one redacted line of at most limit bytes.
func (r redactor) line(text string, limit int) string {
	text = cut(strings.ToValidUTF8(text, "\ufffd"), 2*limit)
	text = strings.Map(func(c rune) rune {
		if c < ' ' || c == '\x7f' {
			return ' '
		}
		return c
	}, text)
	return cut(r.redact(text), limit)
}

// maxID leaves room for the type before the id of an event.
const maxID = 180

// id returns an id that a server accepts: itself, or its hash if it is long, not printable, or holds a credential.
func (r redactor) id(text string) string {
	if text == "" {
		return ""
	}
	plain := len(text) <= maxID && strings.IndexFunc(text, func(c rune) bool { return c < ' ' || c > '~' }) < 0
	if len(text) <= maxToken && r.redact(text) == text && plain {
		return text
	}
	return hash(text)
}

// counts returns the audit.
func (r redactor) counts() (all []loci.RedactionCount) {
	for _, rule := range slices.Sorted(maps.Keys(r)) {
		all = append(all, loci.RedactionCount{Rule: loci.RuleName(rule), Count: loci.Count(r[rule])})
	}
	return all
}

// cut returns the beginning of a text of at most limit bytes, of whole characters.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// clip returns the beginning of a line of at most limit characters.
func clip(text string, limit int) string {
	if r := []rune(cut(text, 4*limit)); len(r) > limit || len(text) > 4*limit {
		return string(r[:min(len(r), limit-1)]) + "…"
	}
	return text
}
