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
	trie          *trie
	looks         *[looksLimit]look
	begin, inside [256]int32 // by the first byte: the node of pieces that begin a word, or go on with one
	specials      []special
	cls, sep, unk int32
	mute          []bool // by id: pieces that say nothing
}

// A special is a piece that a text names literally.
type special struct {
	text string
	id   int32
}

// continuation marks, in a vocabulary, pieces that do not begin a word.
const continuation = "##"

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
	t := &Tokenizer{trie: tree, looks: looks(), cls: none, sep: none, unk: none}
	for _, s := range []struct {
		text string
		id   *int32
	}{{"[UNK]", &t.unk}, {"[CLS]", &t.cls}, {"[SEP]", &t.sep}, {"[PAD]", nil}, {"[MASK]", nil}} {
		id := tree.exact(s.text)
		switch {
		case id != none:
			t.specials = append(t.specials, special{s.text, id})
		case s.id != nil:
			return nil, errors.New("vocabulary: no piece " + s.text)
		}
		if s.id != nil {
			*s.id = id
		}
	}
	t.mute = make([]bool, len(vocabulary))
	for id, piece := range vocabulary {
		t.mute[id] = silent(piece) || int32(id) == t.unk
	}
	tree.spread(0, &t.begin)
	if node := tree.walk(continuation); node != 0 {
		tree.spread(node, &t.inside)
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
	for c := (cursor{Tokenizer: t, text: text}); more && len(dst)-from < most-1; {
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
	var room [longestWord]int32
	for c := (cursor{Tokenizer: t, text: text}); ; {
		ids, more := c.next(room[:0])
		if !more {
			return pieces, unknown
		}
		pieces += len(ids)
		for _, id := range ids {
			if t.mute[id] {
				unknown++
			}
		}
	}
}

// silent reports a piece that says nothing: one letter beyond Latin ones.
func silent(piece string) bool {
	letter := strings.TrimPrefix(piece, continuation)
	r, n := utf8.DecodeRuneInString(letter)
	return n == len(letter) && r >= firstOther && unicode.IsLetter(r)
}

// firstOther is the first character after Latin letters and what stands upon them.
const firstOther = 0x370

// Unknown returns how many words of text are [UNK], and how many there are in
// all. Punctuation and Han characters are words of their own. An unknown word is
// one piece: unknown/Count is the share of pieces that the model cannot read.
func (t *Tokenizer) Unknown(text string) (unknown, all int) {
	var room [longestWord]int32
	for c := (cursor{Tokenizer: t, text: text}); ; all++ {
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
	from, roots := len(ids), &t.begin
	for len(word) > 0 {
		id, size := t.trie.longest(roots[word[0]], word)
		if size == 0 {
			return append(ids[:from], t.unk)
		}
		ids, word, roots = append(ids, id), word[size:], &t.inside
	}
	return ids
}

// special returns the special piece that text begins with, if one does.
func (t *Tokenizer) special(text string) (s special, found bool) {
	for _, s := range t.specials {
		if strings.HasPrefix(text, s.text) {
			return s, true
		}
	}
	return s, false
}
