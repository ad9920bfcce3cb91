package analysis

import (
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// IsWordRune reports whether words contain r. It excludes ignorable characters, the combining enclosing keycap
// (U+20E3), and the letter that is an apostrophe.
func IsWordRune(r rune) bool {
	return IsTextRune(r) && !isIgnorable(r) && r != keycap && r != Apostrophe
}

const (
	keycap     = '\u20E3'
	Apostrophe = '\u02BC'
)

// IsTextRune reports whether r is a letter, a mark, a number, or an enclosed or squared CJK character. Package minhash
// depends on this alone, because its hashes are stored.
func IsTextRune(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return byteClass[r]&Alnum != 0
	case r >= 0x4E00 && r <= 0x9FFF, r >= 0xAC00 && r <= 0xD7A3, r >= 0x3041 && r <= 0x3096,
		r >= 0x30A1 && r <= 0x30FA, r >= 0x0400 && r <= 0x0481:
		return true
	case r >= 0x2010 && r <= 0x2027, r >= 0x3000 && r <= 0x3004:
		return false
	case r >= 0x3200 && r <= 0x33FF:
		return true
	}
	return unicode.In(r, unicode.L, unicode.M, unicode.N)
}

// IsUnsegmented reports whether r is of a script without spaces between words. Hangul is one, because its particles are
// attached to words.
func IsUnsegmented(r rune) bool {
	if r < 0x0E00 {
		return false
	}
	for _, s := range unsegmentedRanges {
		if r <= s.last {
			return r >= s.first
		}
	}
	return false
}

var unsegmentedRanges = [...]struct{ first, last rune }{
	{0x0E00, 0x109F},   // Thai, Lao, Tibetan, Myanmar
	{0x1100, 0x11FF},   // Hangul jamo
	{0x1780, 0x17FF},   // Khmer
	{0x1950, 0x19DF},   // Tai Le, New Tai Lue
	{0x1A20, 0x1AAF},   // Tai Tham
	{0x1B00, 0x1B7F},   // Balinese
	{0x2E80, 0x2FDF},   // Han radicals
	{0x3005, 0x3007},   // iteration mark, zero
	{0x3021, 0x303B},   // numerals, kana repeat marks
	{0x3041, 0x31FF},   // kana, bopomofo, Hangul jamo
	{0x3400, 0x4DBF},   // Han
	{0x4E00, 0x9FFF},   // Han
	{0xA960, 0xA97F},   // Hangul jamo
	{0xA980, 0xA9DF},   // Javanese
	{0xA9E0, 0xA9FF},   // Myanmar
	{0xAA60, 0xAADF},   // Myanmar, Tai Viet
	{0xAC00, 0xD7FF},   // Hangul
	{0xF900, 0xFAFF},   // Han
	{0x1AFF0, 0x1B16F}, // Kana Extended
	{0x20000, 0x3FFFF}, // Han
}

// FoldCase appends t in one letter case. It maps each character to the lower case of its upper case, and the sharp s to
// ss. A mark is composed with a letter that only its lower case composes with (T̈ becomes ẗ).
func FoldCase(out []byte, t string) []byte {
	from, marks, folded := len(out), false, caseFoldTable()
	for _, r := range t {
		switch {
		case r < utf8.RuneSelf:
			if byteClass[r] == Upper {
				r |= 0x20
			}
			out = append(out, byte(r))
			continue
		case r == 'ß' || r == 'ẞ':
			out = append(out, "ss"...)
			continue
		case r < letterTableLimit:
			r = folded[r]
		default:
			r = unicode.ToLower(unicode.ToUpper(r))
		}
		marks = marks || r >= 0x0300 && r < 0x0370
		out = utf8.AppendRune(out, r)
	}
	if marks && !norm.NFC.IsNormal(out[from:]) {
		out = append(out[:from], norm.NFC.Bytes(out[from:])...)
	}
	return out
}

var caseFoldTable = sync.OnceValue(func() *[letterTableLimit]rune {
	var t [letterTableLimit]rune
	for r := range rune(letterTableLimit) {
		t[r] = unicode.ToLower(unicode.ToUpper(r))
	}
	return &t
})

// Unaccent appends t without the accents of Latin, Greek, Cyrillic, Hebrew and Arabic. Elsewhere marks are vowels and
// stay; й and ї are letters of their own. ascii reports that t became ASCII letters, each accented one a single letter.
func Unaccent(out, t []byte) (unaccented []byte, changed, ascii bool) {
	ascii = true
	for i := 0; i < len(t); {
		r, n := utf8.DecodeRune(t[i:])
		i += n
		if r < utf8.RuneSelf {
			ascii = ascii && byteClass[r] == lower
			out = append(out, byte(r))
			continue
		}
		base := unaccentedForm(r)
		changed = changed || base != string(r)
		ascii = ascii && len(base) < 2 && base != string(r)
		out = append(out, base...)
	}
	return out, changed, ascii && changed
}

// unaccentedForm returns a letter without its accents, or "" for an accent alone.
func unaccentedForm(r rune) string {
	if r < unaccentTableLimit {
		return unaccentedForms()[r]
	}
	return string(r)
}

const unaccentTableLimit = 0x2000

var unaccentedForms = sync.OnceValue(func() *[unaccentTableLimit]string {
	var t [unaccentTableLimit]string
	for r := range rune(unaccentTableLimit) {
		t[r] = string(r)
		switch {
		case r == 'й' || r == 'ї':
		case unicode.Is(unicode.Mn, r):
			if unicode.In(r, unicode.Inherited, unicode.Hebrew, unicode.Arabic) {
				t[r] = ""
			}
		case unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Hebrew, unicode.Arabic):
			base, _ := utf8.DecodeRuneInString(norm.NFD.String(t[r]))
			t[r] = string(base)
		}
	}
	for _, p := range [][2]string{{"ø", "o"}, {"ł", "l"}, {"đ", "d"}, {"ð", "d"}, {"þ", "th"}, {"æ", "ae"}, {"œ", "oe"},
		{"ı", "i"}, {"ħ", "h"}} {
		r, _ := utf8.DecodeRuneInString(p[0])
		t[r] = p[1]
	}
	return &t
})

// isIgnorable reports whether r may be inside of a word without being part of it. These are the Arabic tatweel and the
// characters that Unicode ignores by default. Soft hyphens, joiners, directional formatting characters and variation
// selectors are such.
func isIgnorable(r rune) bool {
	switch {
	case r < 0x0300:
		return r == 0xAD
	case r >= 0x2070 && r < 0xFE00:
		return r == 0x3164 // Hangul filler
	}
	for _, s := range ignorableRanges {
		if r <= s.last {
			return r >= s.first
		}
	}
	return false
}

var ignorableRanges = [...]struct{ first, last rune }{
	{0x034F, 0x034F},   // grapheme joiner
	{0x061C, 0x061C},   // Arabic letter mark
	{0x0640, 0x0640},   // tatweel
	{0x115F, 0x1160},   // Hangul fillers
	{0x17B4, 0x17B5},   // Khmer inherent vowels
	{0x180B, 0x180F},   // Mongolian variants
	{0x200B, 0x200F},   // zero width space, joiners, marks of direction
	{0x202A, 0x202E},   // embedding
	{0x2060, 0x206F},   // word joiner, isolates
	{0xFE00, 0xFE0F},   // variants
	{0xFEFF, 0xFEFF},   // byte order mark
	{0xFFA0, 0xFFA0},   // Hangul filler
	{0xE0000, 0xE0FFF}, // tags, variants
}

// FoldRune removes ignorable characters, and writes the decimal digits of all scripts in ASCII: for strings.Map.
func FoldRune(r rune) rune {
	switch {
	case isIgnorable(r):
		return -1
	case r < 0x0600, r >= 0x2000 && r < 0xA000, r >= 0xAC00 && r < 0xD800: // no digits
		return r
	case unicode.Is(unicode.Nd, r):
		return '0' + digitValue(r)
	}
	return r
}

// digitValue returns the value of a decimal digit. Ten in a row belong to one script, and a range of the table holds
// some of these rows.
func digitValue(r rune) rune {
	for _, t := range unicode.Nd.R16 {
		if r <= rune(t.Hi) {
			return (r - rune(t.Lo)) % 10
		}
	}
	for _, t := range unicode.Nd.R32 {
		if r <= rune(t.Hi) {
			return (r - rune(t.Lo)) % 10
		}
	}
	return 0
}
