package search

import (
	"bytes"
	"math/bits"
	"slices"
	"sort"
	"sync"
	"unicode/utf8"
	"unsafe"
)

// wordlist is the words of a segment, or of unfolded rows, that begin with one
// letter and that a misspelled word may be taken for. It says nothing of the
// documents that hold them, so it is true as long as the segment is there.
type wordlist struct {
	sorted bool // the words of each shape are
	sizes  []size
	shapes []shape // of these sizes
}

// size is how long words are: characters times 256, plus bytes.
type size uint16

func (s size) runes() int { return int(s >> 8) }
func (s size) bytes() int { return int(s & 0xff) }

// shape is the words of a list that have one size.
type shape struct {
	letters []uint64 // what each is made of: see lettersOf
	texts   []byte   // one after the other
}

// add takes a term if it is a word that repair may choose.
func (l *wordlist) add(term []byte) {
	letters, n := lettersOf(term)
	if n < shortestRepair || n > longestRepair+mostErrors || !onlyLetters(term) {
		return
	}
	z := size(n<<8 | len(term))
	at, ok := slices.BinarySearch(l.sizes, z)
	if !ok {
		l.sizes, l.shapes = slices.Insert(l.sizes, at, z), slices.Insert(l.shapes, at, shape{})
	}
	s := &l.shapes[at]
	s.letters, s.texts = append(s.letters, letters), append(s.texts, term...)
}

// drafts are lists to be written anew: those that are kept are copied from them, so
// that they need not grow.
var drafts = sync.Pool{New: func() any { return new(wordlist) }}

// copy takes no more room than its words, which came in order.
func (l *wordlist) copy() *wordlist {
	c := &wordlist{sorted: true}
	for i, s := range l.shapes {
		if len(s.letters) > 0 {
			c.sizes, c.shapes = append(c.sizes, l.sizes[i]), append(c.shapes, shape{slices.Clone(s.letters), slices.Clone(s.texts)})
		}
	}
	return c
}

// clear keeps the room of a draft.
func (l *wordlist) clear() {
	for i := range l.shapes {
		l.shapes[i].letters, l.shapes[i].texts = l.shapes[i].letters[:0], l.shapes[i].texts[:0]
	}
}

// memory is what a list takes in bytes.
func (l *wordlist) memory() int {
	n := int(unsafe.Sizeof(*l)) + 2*cap(l.sizes) + cap(l.shapes)*int(unsafe.Sizeof(shape{}))
	for _, s := range l.shapes {
		n += 8*cap(s.letters) + cap(s.texts)
	}
	return n
}

// near calls take with the words that begin with a prefix and are no further from
// the speller's word than it tells apart, which take may lower. Where the prefix is
// one letter it is that of all words of the list.
func (l *wordlist) near(s *speller, prefix string, take func(term []byte, far int) error) error {
	for i, x := range l.shapes {
		z := l.sizes[i]
		room := s.room(z.runes())
		if room < 0 {
			continue
		}
		from, to := 0, len(x.letters)
		if l.sorted && utf8.RuneCountInString(prefix) > 1 {
			from, to = x.begin(z.bytes(), prefix)
		}
		for at, letters := range x.letters[from:to] {
			if bits.OnesCount64(letters^s.letters) > room {
				continue
			}
			term := x.texts[(from+at)*z.bytes():][:z.bytes()]
			if far := s.distance(term); far <= s.most && bytes.HasPrefix(term, []byte(prefix)) {
				if err := take(term, far); err != nil {
					return err
				}
				room = s.room(z.runes())
			}
		}
	}
	return nil
}

// begin is where the words of so many bytes stand that begin with a prefix.
func (x *shape) begin(bytes int, prefix string) (from, to int) {
	start := func(i int) string { return string(x.texts[i*bytes:][:min(bytes, len(prefix))]) }
	from = sort.Search(len(x.letters), func(i int) bool { return start(i) >= prefix })
	return from, from + sort.Search(len(x.letters)-from, func(i int) bool { return start(from+i) > prefix })
}

// lettersOf tells what a word is made of, and of how many characters. These fall
// into 32 classes, of which each has a bit for one of them and another one for
// more. The letters of most alphabets are all of different classes.
func lettersOf(term []byte) (set uint64, runes int) {
	for i := 0; i < len(term); runes++ {
		r, n := rune(term[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(term[i:])
		}
		bit := uint64(1) << (r % 32)
		set |= bit | set&bit<<32
		i += n
	}
	return set, runes
}
