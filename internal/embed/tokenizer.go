package embed

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Tokenizer cuts text into pieces of a vocabulary. It never changes, and any
// number of goroutines may use it at once.
type Tokenizer struct {
	trie        *trie
	runeClasses *[runeTableLimit]runeClass
	// by the first byte: the node of pieces that begin a word, or go on with one
	startNodes, continuationNodes [256]int32
	specials                      []specialToken
	cls, sep, unk                 int32
	uninformative                 []bool // by id: pieces that say nothing
}

// A specialToken is a piece that a text names literally.
type specialToken struct {
	text string
	id   int32
}

// continuationPrefix marks, in a vocabulary, pieces that do not begin a word.
const continuationPrefix = "##"

// NewTokenizer returns a tokenizer for a vocabulary, in which a piece's place is
// its id. It keeps nothing of the slice. [UNK], [CLS] and [SEP] must be there,
// [PAD] and [MASK] may; an empty, a repeated or a broken piece is an error.
func NewTokenizer(vocabulary []string) (*Tokenizer, error) {
	for id, piece := range vocabulary {
		if piece == "" || !utf8.ValidString(piece) {
			return nil, fmt.Errorf("vocabulary: piece %d is empty or no UTF-8", id)
		}
	}
	tree, err := newTrie(vocabulary)
	if err != nil {
		return nil, err
	}
	t := &Tokenizer{trie: tree, runeClasses: runeClassTable(), cls: noPiece, sep: noPiece, unk: noPiece}
	for _, s := range []struct {
		text string
		id   *int32
	}{{"[UNK]", &t.unk}, {"[CLS]", &t.cls}, {"[SEP]", &t.sep}, {"[PAD]", nil}, {"[MASK]", nil}} {
		id := tree.lookup(s.text)
		switch {
		case id != noPiece:
			t.specials = append(t.specials, specialToken{s.text, id})
		case s.id != nil:
			return nil, errors.New("vocabulary: no piece " + s.text)
		}
		if s.id != nil {
			*s.id = id
		}
	}
	t.uninformative = make([]bool, len(vocabulary))
	for id, piece := range vocabulary {
		t.uninformative[id] = isUninformative(piece) || int32(id) == t.unk
	}
	tree.childTable(0, &t.startNodes)
	if node := tree.find(continuationPrefix); node != 0 {
		tree.childTable(node, &t.continuationNodes)
	}
	return t, nil
}

// Encode appends the ids of text to dst: [CLS], the pieces, [SEP], and at most
// most of them. Of a text that is longer the first most-2 pieces are left; under
// most 2 there is no room, and nothing is appended. A text is read only as far as
// its pieces are needed.
func (t *Tokenizer) Encode(dst []int32, text string, most int) []int32 {
	if most < 2 {
		return dst
	}
	from, more := len(dst), true
	dst = append(dst, t.cls)
	for c := (wordReader{Tokenizer: t, text: text}); more && len(dst)-from < most-1; {
		dst, more = c.next(dst)
	}
	return append(dst[:min(len(dst), from+most-1)], t.sep)
}

// Count returns the number of pieces of text, without [CLS] and [SEP].
func (t *Tokenizer) Count(text string) (pieces int) {
	pieces, _ = t.Pieces(text)
	return pieces
}

// Pieces returns the number of pieces of text, without [CLS] and [SEP], and how many of
// them say nothing: those that are [UNK], and single letters of other scripts, to
// which the words of those fall.
func (t *Tokenizer) Pieces(text string) (pieces, unknown int) {
	var room [maxWordRunes]int32
	for c := (wordReader{Tokenizer: t, text: text}); ; {
		ids, more := c.next(room[:0])
		if !more {
			return pieces, unknown
		}
		pieces += len(ids)
		for _, id := range ids {
			if t.uninformative[id] {
				unknown++
			}
		}
	}
}

// isUninformative reports a piece that says nothing: one letter beyond Latin ones.
func isUninformative(piece string) bool {
	letter := strings.TrimPrefix(piece, continuationPrefix)
	r, n := utf8.DecodeRuneInString(letter)
	return n == len(letter) && r >= firstNonLatin && unicode.IsLetter(r)
}

// firstNonLatin is the first character after Latin letters and what stands upon them.
const firstNonLatin = 0x370

// UnknownWords returns how many words of text are [UNK], and how many there are in
// all. Punctuation and Han characters are words of their own. An unknown word is
// one piece: unknown/Count is the share of pieces that the model cannot read.
func (t *Tokenizer) UnknownWords(text string) (unknown, all int) {
	var room [maxWordRunes]int32
	for c := (wordReader{Tokenizer: t, text: text}); ; all++ {
		ids, more := c.next(room[:0])
		if !more {
			return unknown, all
		}
		if ids[0] == t.unk {
			unknown++
		}
	}
}

// pieces appends the ids of a word.
func (t *Tokenizer) pieces(ids []int32, word []byte) []int32 {
	from, roots := len(ids), &t.startNodes
	for len(word) > 0 {
		id, size := t.trie.longestMatch(roots[word[0]], word)
		if size == 0 {
			return append(ids[:from], t.unk)
		}
		ids, word, roots = append(ids, id), word[size:], &t.continuationNodes
	}
	return ids
}

// special returns the special piece that text begins with, if one does.
func (t *Tokenizer) special(text string) (s specialToken, found bool) {
	for _, s := range t.specials {
		if strings.HasPrefix(text, s.text) {
			return s, true
		}
	}
	return s, false
}
