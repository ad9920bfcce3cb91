package embed

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Tokenizer cuts text into pieces of a vocabulary. It is immutable and safe for concurrent use.
type Tokenizer struct {
	trie        *trie
	runeClasses *[runeTableLimit]runeClass
	// by the first byte: the node of pieces that begin a word, or continue one
	startNodes, continuationNodes [256]int32
	specials                      []specialToken
	cls, sep, unk                 int32
	uninformative                 []bool // by id: pieces without information
}

// A specialToken is a piece that a text names literally.
type specialToken struct {
	text string
	id   int32
}

// continuationPrefix marks the pieces of a vocabulary that do not begin a word.
const continuationPrefix = "##"

// NewTokenizer returns a tokenizer for a vocabulary, in which the index of a piece is its id. It does not retain the
// slice. [UNK], [CLS] and [SEP] are required, [PAD] and [MASK] are optional. An empty, a repeated or a broken piece is
// an error.
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

// Encode appends at most most ids of text to dst: [CLS], the pieces, [SEP]. Of a longer text the first most-2 pieces
// remain. If most is less than 2, nothing is appended. A text is read only as far as its pieces are needed.
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

// CountTokens returns the number of tokens of a text, without [CLS] and [SEP], and how many of them are uninformative.
// These are [UNK], and single letters of other scripts, into which their words are cut.
func (t *Tokenizer) CountTokens(text string) (tokens, unknown int) {
	var room [maxWordRunes]int32
	for c := (wordReader{Tokenizer: t, text: text}); ; {
		ids, more := c.next(room[:0])
		if !more {
			return tokens, unknown
		}
		tokens += len(ids)
		for _, id := range ids {
			if t.uninformative[id] {
				unknown++
			}
		}
	}
}

// isUninformative reports whether a piece is one letter beyond the Latin ones.
func isUninformative(piece string) bool {
	letter := strings.TrimPrefix(piece, continuationPrefix)
	r, n := utf8.DecodeRuneInString(letter)
	return n == len(letter) && r >= firstNonLatin && unicode.IsLetter(r)
}

// firstNonLatin is the first character after the Latin letters and their marks.
const firstNonLatin = 0x370

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
