package index

import (
	"bytes"
	"math/bits"
	"slices"
	"sort"
	"sync"
	"unicode/utf8"
	"unsafe"

	"github.com/loci-memory/loci/internal/analysis"
)

// termDict is the words of a segment, or of unfolded rows, that begin with one
// letter and that a misspelled word may be taken for. It says nothing of the
// documents that hold them, so it is true as long as the segment is there.
type termDict struct {
	sorted        bool // the words of each shape are
	lengthClasses []lengthClass
	buckets       []lengthBucket // of these sizes
}

// lengthClass is how long words are: characters times 256, plus bytes.
type lengthClass uint16

func (s lengthClass) runes() int { return int(s >> 8) }
func (s lengthClass) bytes() int { return int(s & 0xff) }

// lengthBucket is the words of a list that have one size.
type lengthBucket struct {
	letterMasks []uint64 // what each is made of: see lettersOf
	texts       []byte   // one after the other
}

// Bounds of the words that a spelling correction may choose or replace, in characters.
const (
	minCorrectionRunes = 3
	MaxMisspelledRunes = 32
)

// add takes a term if it is a word that repair may choose.
func (l *termDict) add(term []byte) {
	letters, n := letterMaskOf(term)
	if n < minCorrectionRunes || n > MaxMisspelledRunes+maxEdits || !analysis.OnlyLetters(term) {
		return
	}
	z := lengthClass(n<<8 | len(term))
	at, ok := slices.BinarySearch(l.lengthClasses, z)
	if !ok {
		l.lengthClasses, l.buckets = slices.Insert(l.lengthClasses, at, z), slices.Insert(l.buckets, at, lengthBucket{})
	}
	s := &l.buckets[at]
	s.letterMasks, s.texts = append(s.letterMasks, letters), append(s.texts, term...)
}

// termDictPool are lists to be written anew: those that are kept are copied from them, so
// that they need not grow.
var termDictPool = sync.Pool{New: func() any { return new(termDict) }}

// clone takes no more room than its words, which came in order.
func (l *termDict) clone() *termDict {
	c := &termDict{sorted: true}
	for i, s := range l.buckets {
		if len(s.letterMasks) > 0 {
			c.lengthClasses, c.buckets = append(c.lengthClasses, l.lengthClasses[i]),
				append(c.buckets, lengthBucket{slices.Clone(s.letterMasks), slices.Clone(s.texts)})
		}
	}
	return c
}

// reset keeps the room of a draft.
func (l *termDict) reset() {
	for i := range l.buckets {
		l.buckets[i].letterMasks, l.buckets[i].texts = l.buckets[i].letterMasks[:0], l.buckets[i].texts[:0]
	}
}

// memoryBytes is what a list takes in bytes.
func (l *termDict) memoryBytes() int {
	n := int(unsafe.Sizeof(*l)) + 2*cap(l.lengthClasses) + cap(l.buckets)*int(unsafe.Sizeof(lengthBucket{}))
	for _, s := range l.buckets {
		n += 8*cap(s.letterMasks) + cap(s.texts)
	}
	return n
}

// eachFuzzyMatch calls take with the words that begin with a prefix and are no further from
// the speller's word than it tells apart, which take may lower. Where the prefix is
// one letter it is that of all words of the list.
func (l *termDict) eachFuzzyMatch(s *EditDistanceMatcher, prefix string,
	take func(term []byte, distance int) error) error {
	for i, x := range l.buckets {
		z := l.lengthClasses[i]
		budget := s.maxMaskDiff(z.runes())
		if budget < 0 {
			continue
		}
		from, to := 0, len(x.letterMasks)
		if l.sorted && utf8.RuneCountInString(prefix) > 1 {
			from, to = x.prefixRange(z.bytes(), prefix)
		}
		for at, letters := range x.letterMasks[from:to] {
			if bits.OnesCount64(letters^s.letterMask) > budget {
				continue
			}
			term := x.texts[(from+at)*z.bytes():][:z.bytes()]
			if distance := s.distance(term); distance <= s.MaxDistance && bytes.HasPrefix(term, []byte(prefix)) {
				if err := take(term, distance); err != nil {
					return err
				}
				budget = s.maxMaskDiff(z.runes())
			}
		}
	}
	return nil
}

// prefixRange is where the words of so many bytes stand that begin with a prefix.
func (x *lengthBucket) prefixRange(bytes int, prefix string) (from, to int) {
	start := func(i int) string { return string(x.texts[i*bytes:][:min(bytes, len(prefix))]) }
	from = sort.Search(len(x.letterMasks), func(i int) bool { return start(i) >= prefix })
	return from, from + sort.Search(len(x.letterMasks)-from, func(i int) bool { return start(from+i) > prefix })
}

// letterMaskOf tells what a word is made of, and of how many characters. These fall
// into 32 classes, of which each has a bit for one of them and another one for
// more. The letters of most alphabets are all of different classes.
func letterMaskOf(term []byte) (set uint64, runes int) {
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
