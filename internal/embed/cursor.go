package embed

import "unicode/utf8"

// longestWord is the number of characters, after normalization, of the longest
// word that is looked up; so no word has more pieces.
const longestWord = 100

// A cursor reads the words of a text, one after another, in one pass and without
// allocating. What it has read of a longer word it only counts.
type cursor struct {
	*Tokenizer
	text  string
	at    int // in bytes
	word  [longestWord * utf8.UTFMax]byte
	bytes int // of the word
	runes int // of the word, and of what did not fit
}

// next appends the pieces of the next word, at least one, or reports that there
// is none.
func (c *cursor) next(ids []int32) (more []int32, found bool) {
	c.bytes, c.runes = 0, 0
	for c.at < len(c.text) {
		l, size := c.look()
		switch l.kind {
		case letter:
			c.put(l.rune)
		case knot:
			parts, n := decompose(l.rune)
			for _, r := range parts[:n] {
				c.put(r)
			}
		case gap:
			if c.runes > 0 {
				c.at += size
				return c.end(ids), true
			}
		case sign:
			if c.runes > 0 {
				return c.end(ids), true // it is read again, as the next word
			}
			if c.text[c.at] == '[' {
				if s, found := c.special(c.text[c.at:]); found {
					c.at += len(s.text)
					return append(ids, s.id), true
				}
			}
			c.put(l.rune)
			c.at += size
			return c.end(ids), true
		}
		c.at += size
	}
	if c.runes > 0 {
		return c.end(ids), true
	}
	return ids, false
}

// look says what the next character is, and its size in bytes.
func (c *cursor) look() (l look, size int) {
	if b := c.text[c.at]; b < utf8.RuneSelf {
		return c.looks[b], 1
	}
	r, size := utf8.DecodeRuneInString(c.text[c.at:])
	if r < looksLimit {
		return c.looks[r], size
	}
	return lookAt(r), size
}

func (c *cursor) put(r rune) {
	switch {
	case c.runes >= longestWord:
	case r < utf8.RuneSelf:
		c.word[c.bytes] = byte(r)
		c.bytes++
	default:
		c.bytes += utf8.EncodeRune(c.word[c.bytes:], r)
	}
	c.runes++
}

func (c *cursor) end(ids []int32) []int32 {
	if c.runes > longestWord {
		return append(ids, c.unk)
	}
	return c.pieces(ids, c.word[:c.bytes])
}
