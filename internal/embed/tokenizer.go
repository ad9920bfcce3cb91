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
	ids           map[string]int32 // of the pieces
	continuations map[string]int32 // of those that continue a word, without their prefix
	longest       int              // bytes of the longest piece
	specials      []specialToken
	cls, sep, unk int32
	uninformative []bool // by id: pieces without information
}

// A specialToken is a piece that a text names literally.
type specialToken struct {
	text string
	id   int32
}

const (
	continuationPrefix = "##" // of the pieces that do not begin a word
	unknownPiece       = "[UNK]"
)

// NewTokenizer returns a tokenizer for a vocabulary, in which the index of a piece is its id. It does not retain the
// slice. [UNK], [CLS] and [SEP] are required, [PAD] and [MASK] are optional. An empty, a repeated or a broken piece is
// an error.
func NewTokenizer(vocabulary []string) (*Tokenizer, error) {
	t := &Tokenizer{ids: make(map[string]int32, len(vocabulary)), continuations: map[string]int32{},
		uninformative: make([]bool, len(vocabulary))}
	for i, piece := range vocabulary {
		if piece == "" || !utf8.ValidString(piece) {
			return nil, fmt.Errorf("vocabulary: piece %d is empty or no UTF-8", i)
		}
		if first, twice := t.ids[piece]; twice {
			return nil, fmt.Errorf("vocabulary: pieces %d and %d are the same, %q", first, i, piece)
		}
		t.ids[piece], t.longest = int32(i), max(t.longest, len(piece))
		if rest, ok := strings.CutPrefix(piece, continuationPrefix); ok {
			t.continuations[rest] = int32(i)
		}
		t.uninformative[i] = piece == unknownPiece || isUninformative(piece)
	}
	for _, piece := range []string{unknownPiece, "[CLS]", "[SEP]", "[PAD]", "[MASK]"} {
		if id, ok := t.ids[piece]; ok {
			t.specials = append(t.specials, specialToken{piece, id})
		} else if piece != "[PAD]" && piece != "[MASK]" {
			return nil, errors.New("vocabulary: no piece " + piece)
		}
	}
	t.unk, t.cls, t.sep = t.specials[0].id, t.specials[1].id, t.specials[2].id
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
	from, pieces := len(ids), t.ids
	for len(word) > 0 {
		id, size := t.longestMatch(pieces, word)
		if size == 0 {
			return append(ids[:from], t.unk)
		}
		ids, word, pieces = append(ids, id), word[size:], t.continuations
	}
	return ids
}

// longestMatch returns the longest piece that word begins with and its size in bytes, or size 0.
func (t *Tokenizer) longestMatch(pieces map[string]int32, word []byte) (id int32, size int) {
	for size = min(len(word), t.longest); size > 0; size-- {
		if id, ok := pieces[string(word[:size])]; ok {
			return id, size
		}
	}
	return 0, 0
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
