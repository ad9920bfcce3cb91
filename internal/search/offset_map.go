package search

import (
	"cmp"
	"slices"

	"golang.org/x/text/unicode/norm"
)

// offsetMap is a chunk whose normal form is another text, in which characters stand
// elsewhere: ligatures, wide letters, accents by themselves, letters of Hangul.
type offsetMap struct {
	source   string // the chunk as it is written
	from, to int    // where in its normal form the term stands
	segments []segmentEnd
}

// segmentEnd is where a segment ends in the normal form and in the chunk. Segments
// are what Unicode normalizes each by itself (UAX #15, stable code points).
type segmentEnd struct{ normal, text int }

// reset empties it for the next chunk.
func (m *offsetMap) reset() { m.source, m.segments = "", m.segments[:0] }

// setOffsets notes where in the normal form of a chunk a term stands, and in the text, if
// these are alike.
func (a *analyzer) setOffsets(origin, from, to int) {
	if a.offsetMap.source == "" {
		a.from, a.to = origin+from, origin+to
	} else {
		a.offsetMap.from, a.offsetMap.to = from, to
	}
}

// sourceOffsets is where in the text a term stands, in whole segments of its chunk. To map it
// back costs as much as the normal form did, so it is done only for what is marked.
func (a *analyzer) sourceOffsets() (from, to int) {
	if a.offsetMap.source == "" {
		return a.from, a.to
	}
	return a.offsetMap.sourceOffsets(a.from)
}

func (m *offsetMap) sourceOffsets(origin int) (from, to int) {
	if len(m.segments) == 0 {
		m.buildSegments()
	}
	first := m.segmentAt(m.from)
	if first > 0 {
		from = m.segments[first-1].text
	}
	return origin + from, origin + m.segments[m.segmentAt(m.to-1)].text
}

// segmentAt finds the segment of a byte of the normal form.
func (m *offsetMap) segmentAt(at int) int {
	i, _ := slices.BinarySearchFunc(m.segments, at, func(s segmentEnd, at int) int {
		return cmp.Compare(s.normal, at+1)
	})
	return i
}

// buildSegments finds the segments of the chunk.
func (m *offsetMap) buildSegments() {
	end := segmentEnd{}
	for end.text < len(m.source) {
		n := norm.NFKC.NextBoundaryInString(m.source[end.text:], true)
		end.normal += len(normalizeNFKC(m.source[end.text : end.text+n]))
		end.text += n
		m.segments = append(m.segments, end)
	}
}
