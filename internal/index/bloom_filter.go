package index

import "hash/maphash"

// A bloomFilter reports that a small segment lacks a term (Bloom, Space/time trade-offs in hash coding with allowable
// errors, 1970). The bits of a term lie in one word, as in a blocked Bloom filter (Putze, Sanders and Singler, Cache-,
// hash- and space-efficient Bloom filters, 2007). A search of a thousand workspaces looks up most words in workspaces
// without them. Reading a page of postings costs some thirty times as much as this filter.
type bloomFilter []uint64

// maxBloomPages bounds the segments with a filter. Building one reads all pages, 64 KiB here, and larger segments have
// most words of a query anyway.
const maxBloomPages = 8

// newBloomFilter returns a filter with a byte for each term. The false positive rate is about 4 %.
func newBloomFilter(terms int) bloomFilter { return make(bloomFilter, (terms+7)/8) }

// bits returns the index of the word of a term and its bits there.
func (f bloomFilter) bits(hash uint64) (at int, mask uint64) {
	mask = 1<<(hash&63) | 1<<(hash>>6&63) | 1<<(hash>>12&63)
	return int((hash >> 32) * uint64(len(f)) >> 32), mask
}

func (f bloomFilter) add(term []byte) {
	at, mask := f.bits(maphash.Bytes(hashSeed, term))
	f[at] |= mask
}

func (f bloomFilter) mayContain(hash uint64) bool {
	at, mask := f.bits(hash)
	return f[at]&mask == mask
}

// HashTerm returns the hash of a term for [Snapshot.Excludes]. It differs between processes.
func HashTerm(term string) uint64 { return maphash.String(hashSeed, term) }

// Excludes reports that no document has a term with a hash. It returns false where it cannot know.
func (v *Snapshot) Excludes(fetch PageFetcher, hash uint64) bool {
	for _, g := range v.segments {
		if !g.excludes(fetch, hash) {
			return false
		}
	}
	return len(v.rows) == 0
}

// excludes reports that the segment has no term with a hash. The first call builds the filter from all pages. If a page
// cannot be read, it returns false.
func (g *Segment) excludes(fetch PageFetcher, hash uint64) bool {
	if len(g.pageFirstTerms) > maxBloomPages {
		return false
	}
	set := g.bloom.Load()
	if set == nil {
		var r termIterator
		made := newBloomFilter(max(1, min(g.termCount, maxBloomPages*pageBytes)))
		for r.begin(g, fetch, "", lastTerm); r.next(); {
			made.add(r.block.term)
		}
		if r.err != nil {
			return false
		}
		set = &made
		g.bloom.Store(set)
	}
	return !set.mayContain(hash)
}
