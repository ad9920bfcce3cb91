package analysis

import (
	"cmp"
	"slices"

	"golang.org/x/text/unicode/norm"
)

// OffsetMap is a chunk whose normal form is another text, in which characters stand
// elsewhere: ligatures, wide letters, accents by themselves, letters of Hangul.
type OffsetMap struct {
	source   string // the chunk as it is written
	from, to int    // where in its normal form the term stands
	segments []segmentEnd
}

// segmentEnd is where a segment ends in the normal form and in the chunk. Segments
// are what Unicode normalizes each by itself (UAX #15, stable code points).
type segmentEnd struct{ normal, text int }

// NewOffsetMap returns the map of a text to its normal form.
func NewOffsetMap(source string) *OffsetMap { return &OffsetMap{source: source} }

// SourceSpan returns the byte range in the text of a byte range in its normal form.
func (m *OffsetMap) SourceSpan(from, to int) (int, int) {
	m.from, m.to = from, to
	return m.sourceOffsets(0)
}

// reset empties it for the next chunk.
func (m *OffsetMap) reset() { m.source, m.segments = "", m.segments[:0] }

// setOffsets notes where in the normal form of a chunk a term stands, and in the text, if
// these are alike.
func (a *Analyzer) setOffsets(origin, from, to int) {
	if a.offsetMap.source == "" {
		a.from, a.to = origin+from, origin+to
	} else {
		a.offsetMap.from, a.offsetMap.to = from, to
	}
}

// SourceOffsets is where in the text a term stands, in whole segments of its chunk. To map it
// back costs as much as the normal form did, so it is done only for what is marked.
func (a *Analyzer) SourceOffsets() (from, to int) {
	if a.offsetMap.source == "" {
		return a.from, a.to
	}
	return a.offsetMap.sourceOffsets(a.from)
}

func (m *OffsetMap) sourceOffsets(origin int) (from, to int) {
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
func (m *OffsetMap) segmentAt(at int) int {
	i, _ := slices.BinarySearchFunc(m.segments, at, func(s segmentEnd, at int) int {
		return cmp.Compare(s.normal, at+1)
	})
	return i
}

// buildSegments finds the segments of the chunk.
func (m *OffsetMap) buildSegments() {
	end := segmentEnd{}
	for end.text < len(m.source) {
		n := norm.NFKC.NextBoundaryInString(m.source[end.text:], true)
		end.normal += len(NormalizeNFKC(m.source[end.text : end.text+n]))
		end.text += n
		m.segments = append(m.segments, end)
	}
}
