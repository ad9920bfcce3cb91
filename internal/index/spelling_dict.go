package index

import (
	"bytes"
	"math/bits"
	"slices"
	"sort"
	"unicode/utf8"
	"unsafe"

	"github.com/loci-memory/loci/internal/analysis"
)

// spellingDict is a dictionary of the words of a segment, or of the memtable, with one first letter. It holds only
// candidates for spelling corrections. It has no document frequencies, so tombstones do not change it.
type spellingDict struct {
	sorted        bool // the words of each bucket are sorted
	lengthClasses []lengthClass
	buckets       []lengthBucket // parallel to lengthClasses
}

// lengthClass is the length of a word: characters times 256, plus bytes.
type lengthClass uint16

func (s lengthClass) runes() int { return int(s >> 8) }
func (s lengthClass) bytes() int { return int(s & 0xff) }

// lengthBucket holds the words of one length class.
type lengthBucket struct {
	letterMasks []uint64 // letters of each word: see letterMaskOf
	texts       []byte   // concatenated
}

// Bounds of the words that a spelling correction may choose or replace, in characters. Measured: with 2 or 4 as the
// least, results are as good.
const (
	minCorrectionRunes = 3
	MaxMisspelledRunes = 32
)

// add adds a term that is a possible spelling correction.
func (d *spellingDict) add(term []byte) {
	letters, n := letterMaskOf(term)
	if n < minCorrectionRunes || n > MaxMisspelledRunes+maxEdits || !analysis.OnlyLetters(term) {
		return
	}
	z := lengthClass(n<<8 | len(term))
	at, ok := slices.BinarySearch(d.lengthClasses, z)
	if !ok {
		d.lengthClasses, d.buckets = slices.Insert(d.lengthClasses, at, z), slices.Insert(d.buckets, at, lengthBucket{})
	}
	s := &d.buckets[at]
	s.letterMasks, s.texts = append(s.letterMasks, letters), append(s.texts, term...)
}

// sizeBytes returns the size of a dictionary in RAM.
func (d *spellingDict) sizeBytes() int {
	n := int(unsafe.Sizeof(*d)) + 2*cap(d.lengthClasses) + cap(d.buckets)*int(unsafe.Sizeof(lengthBucket{}))
	for _, s := range d.buckets {
		n += 8*cap(s.letterMasks) + cap(s.texts)
	}
	return n
}

// eachFuzzyMatch calls visit for the words with a prefix within MaxDistance of the matcher. visit may lower
// MaxDistance. All words of the dictionary begin with the first letter of the prefix.
func (d *spellingDict) eachFuzzyMatch(m *EditDistanceMatcher, prefix string,
	visit func(term []byte, distance int) error) error {
	for i, b := range d.buckets {
		z := d.lengthClasses[i]
		budget := m.maxMaskDiff(z.runes())
		if budget < 0 {
			continue
		}
		from, to := 0, len(b.letterMasks)
		if d.sorted && utf8.RuneCountInString(prefix) > 1 {
			from, to = b.prefixRange(z.bytes(), prefix)
		}
		for at, letters := range b.letterMasks[from:to] {
			if bits.OnesCount64(letters^m.letterMask) > budget {
				continue
			}
			term := b.texts[(from+at)*z.bytes():][:z.bytes()]
			if distance := m.distance(term); distance <= m.MaxDistance && bytes.HasPrefix(term, []byte(prefix)) {
				if err := visit(term, distance); err != nil {
					return err
				}
				budget = m.maxMaskDiff(z.runes())
			}
		}
	}
	return nil
}

// prefixRange returns the range of the words with a prefix. Each word has the given number of bytes.
func (b *lengthBucket) prefixRange(bytes int, prefix string) (from, to int) {
	start := func(i int) string { return string(b.texts[i*bytes:][:min(bytes, len(prefix))]) }
	from = sort.Search(len(b.letterMasks), func(i int) bool { return start(i) >= prefix })
	return from, from + sort.Search(len(b.letterMasks)-from, func(i int) bool { return start(from+i) > prefix })
}

// letterMaskOf returns a bit set of the letters of a word, and its length in characters. Letters fall into 32 classes.
// Each class has one bit for the first letter and another for repeated ones. The letters of most alphabets have
// distinct classes.
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
