package mail

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxName is the most characters of a name in a mail, with the one that stands for the rest.
const maxName = 60

// quoteName returns a name that a user chose as a quotation of one line, or nothing for a name without visible text. A
// name may be a text that a spammer wants to send, so it is shortened, and a mail program makes no link of it.
func quoteName(name string) string {
	name = breakAddresses(webAddress.ReplaceAllString(plainText(name), "…"))
	if runes := []rune(name); len(runes) > maxName {
		name = strings.TrimSpace(string(runes[:maxName-1])) + "…"
	}
	if name == "" {
		return ""
	}
	return `"` + name + `"`
}

// plainText returns a text without line breaks, control characters, invisible ones and double quotation marks, with
// which a text would end its quotation.
func plainText(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			return ' '
		case r == zeroWidthJoiner || r == zeroWidthNonJoiner: // of emoji and of words in some scripts
			return r
		case unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs) || r == unicode.ReplacementChar:
			return -1
		case strings.ContainsRune("\"“”„‟″〃〝〞＂", r):
			return '\''
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

const (
	zeroWidthNonJoiner = '\u200c'
	zeroWidthJoiner    = '\u200d'
)

// webAddress matches the addresses that a reader knows as such, with all that follows up to a space.
var webAddress = regexp.MustCompile(`(?i)\b([a-z][a-z0-9+.-]*://|www\.)\S*`)

// breakAddresses puts a space behind each character that joins the parts of an address or of an encoded word
// (RFC 2047). So it needs no list of domains and schemes.
func breakAddresses(text string) string {
	var b strings.Builder
	for _, r := range text {
		b.WriteRune(r)
		if strings.ContainsAny(norm.NFKC.String(string(r)), `.。:@\=`) {
			b.WriteByte(' ')
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
