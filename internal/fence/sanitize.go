package fence

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// writeSanitized writes a text without invisible characters; newLine replaces each end of a line.
func (p *writer) writeSanitized(s, newLine string) {
	for i, r := range s {
		switch {
		case r == '\r' && strings.HasPrefix(s[i+1:], "\n"):
			// The \n that follows ends the line.
		case endsLine(r):
			p.writeOwn(newLine)
		case isIgnorable(r) && !p.keepsMeaning(r):
			p.hiddenCount++
		default:
			r = controlPicture(r)
			p.breakControlToken(r)
			p.buf = utf8.AppendRune(p.buf, r)
		}
	}
}

// controlPicture returns the visible picture of a control character.
func controlPicture(r rune) rune {
	switch {
	case r < ' ' && r != '\t':
		return '\u2400' + r
	case r == '\x7f':
		return '\u2421'
	case r < '\u00a0' && r > '\x7f':
		return utf8.RuneError
	}
	return r
}

func endsLine(r rune) bool {
	switch r {
	case '\n', '\v', '\f', '\r', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}

// breakControlToken writes a space before the word of a control token like <|im_start|>. It checks the written bytes,
// not the input, so that characters left out between them cannot hide a token. Operators, which have spaces or marks
// there, stay unchanged.
func (p *writer) breakControlToken(next rune) {
	if bytes.HasSuffix(p.buf, []byte("<|")) || bytes.HasSuffix(p.buf, []byte("<\uff5c")) {
		if next > unicode.MaxASCII || next == '_' || 'a' <= next|0x20 && next|0x20 <= 'z' {
			p.buf = append(p.buf, ' ')
		}
	}
}

// ignorable are the invisible characters: Unicode's Default_Ignorable_Code_Point (DerivedCoreProperties.txt) and
// interlinear annotation, which hides the annotated text.
var ignorable = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x00ad, 0x00ad, 1}, {0x034f, 0x034f, 1}, {0x061c, 0x061c, 1}, {0x115f, 0x1160, 1},
		{0x17b4, 0x17b5, 1}, {0x180b, 0x180f, 1}, {0x200b, 0x200f, 1}, {0x202a, 0x202e, 1},
		{0x2060, 0x206f, 1}, {0x3164, 0x3164, 1}, {0xfe00, 0xfe0f, 1}, {0xfeff, 0xfeff, 1},
		{0xffa0, 0xffa0, 1}, {0xfff0, 0xfffb, 1},
	},
	R32: []unicode.Range32{{0x1bca0, 0x1bca3, 1}, {0x1d173, 0x1d17a, 1}, {0xe0000, 0xe0fff, 1}},
}

func isIgnorable(r rune) bool { return r >= 0xad && unicode.Is(ignorable, r) }

// keepsMeaning reports whether the character before r gives the invisible r a meaning. Joiners have one in Arabic,
// Indic and related scripts and in emoji. One selector has one behind a symbol, a digit (keycaps), a Han or a Mongolian
// character. One is enough for any of them; a run of selectors can smuggle bytes.
func (p *writer) keepsMeaning(r rune) bool {
	before, _ := utf8.DecodeLastRune(p.buf)
	switch {
	case r == '\u200c' || r == '\u200d':
		return before == '\ufe0f' || 0x0600 <= before && before <= 0x1cff && !isIgnorable(before) ||
			0xa840 <= before && before <= 0xabff || isSymbol(before)
	case 0xfe00 <= r && r <= 0xfe0f:
		return isSymbol(before) || unicode.Is(unicode.Han, before) || before == '#' || before == '*' ||
			'0' <= before && before <= '9'
	case 0xe0100 <= r && r <= 0xe01ef:
		return unicode.Is(unicode.Han, before)
	case 0x180b <= r && r <= 0x180f:
		return unicode.Is(unicode.Mongolian, before) && !isIgnorable(before)
	}
	return false
}

// isSymbol reports whether r may be an emoji or one of its colours. It is a symbol outside of ASCII and its wide forms,
// or one of the few emoji that Unicode counts as letters or punctuation.
func isSymbol(r rune) bool {
	switch r {
	case '\u203c', '\u2049', '\u2139', '\u3030':
		return true
	}
	wide := 0xfe00 <= r && r <= 0xffff
	return r > unicode.MaxASCII && !wide && unicode.In(r, unicode.So, unicode.Sk, unicode.Sm)
}
