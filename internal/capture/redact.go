package capture

import (
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/fence"
	"github.com/loci-memory/loci/internal/secret"
)

// A redactor redacts the texts of one event.
type redactor struct{ secret.Counter }

func newRedactor() redactor { return redactor{secret.Counter{}} }

// The bounds of the text of an event before it is redacted.
const (
	// maxScanned bounds the text that is read: more than an event's content has room for.
	maxScanned = 2 * loci.MaxEventContent
	// maxToken is the end of a cut text that is dropped: a credential without its rest is not recognized there.
	maxToken = 8 << 10
)

// content returns a text without quotations of memories and credentials, within the limit of an event. It reads the
// first bytes alone, so that its time is bounded whatever the payload is.
func (r redactor) content(text string) string {
	isCut := len(text) >= maxScanned // the script of a client has cut it there
	text = strings.ToValidUTF8(cut(text, maxScanned), "\ufffd")
	text = r.Redact(fence.Strip(strings.ReplaceAll(text, "\x00", "\u2400")))
	if isCut {
		text = cut(text, max(0, len(text)-maxToken))
	}
	return strings.TrimSpace(cut(strings.TrimSpace(text), loci.MaxEventContent))
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
	return cut(r.Redact(text), limit)
}

// maxID leaves room for the type before the id of an event.
const maxID = 180

// id returns an id that a server accepts: itself, or its hash if it is long, not printable, or holds a credential.
func (r redactor) id(text string) string {
	if text == "" {
		return ""
	}
	plain := len(text) <= maxID && strings.IndexFunc(text, func(c rune) bool { return c < ' ' || c > '~' }) < 0
	if len(text) <= maxToken && r.Redact(text) == text && plain {
		return text
	}
	return hash(text)
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
