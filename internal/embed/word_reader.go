package embed

import "unicode/utf8"

// maxWordRunes is the number of characters, after normalization, of the longest word that is looked up. So no word has
// more pieces.
const maxWordRunes = 100

// A wordReader reads the words of a text, one after another, in one pass. It only counts the characters of a word that
// is too long.
type wordReader struct {
	*Tokenizer
	text      string
	offset    int // in bytes
	word      [maxWordRunes * utf8.UTFMax]byte
	wordBytes int // of the word
	wordRunes int // of the word, including the characters that did not fit
}

// next appends the pieces of the next word, at least one. It reports whether one was found.
func (c *wordReader) next(ids []int32) (more []int32, found bool) {
	c.wordBytes, c.wordRunes = 0, 0
	for c.offset < len(c.text) {
		r, size := utf8.DecodeRuneInString(c.text[c.offset:])
		l := classify(r)
		switch l.kind {
		case kindLetter:
			c.appendRune(l.rune)
		case kindDecomposed:
			parts, n := decompose(l.rune)
			for _, r := range parts[:n] {
				c.appendRune(r)
			}
		case kindSpace:
			if c.wordRunes > 0 {
				c.offset += size
				return c.finishWord(ids), true
			}
		case kindSingle:
			if c.wordRunes > 0 {
				return c.finishWord(ids), true // it is read again, as the next word
			}
			if c.text[c.offset] == '[' {
				if s, found := c.special(c.text[c.offset:]); found {
					c.offset += len(s.text)
					return append(ids, s.id), true
				}
			}
			c.appendRune(l.rune)
			c.offset += size
			return c.finishWord(ids), true
		}
		c.offset += size
	}
	if c.wordRunes > 0 {
		return c.finishWord(ids), true
	}
	return ids, false
}

func (c *wordReader) appendRune(r rune) {
	switch {
	case c.wordRunes >= maxWordRunes:
	case r < utf8.RuneSelf:
		c.word[c.wordBytes] = byte(r)
		c.wordBytes++
	default:
		c.wordBytes += utf8.EncodeRune(c.word[c.wordBytes:], r)
	}
	c.wordRunes++
}

func (c *wordReader) finishWord(ids []int32) []int32 {
	if c.wordRunes > maxWordRunes {
		return append(ids, c.unk)
	}
	return c.pieces(ids, c.word[:c.wordBytes])
}
