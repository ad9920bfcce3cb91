package analysis

import (
	"cmp"
	"slices"

	"golang.org/x/text/unicode/norm"
)

// OffsetMap maps the normal form of a chunk to its source. They differ in ligatures, wide letters, combining accents,
// and letters of Hangul.
type OffsetMap struct {
	source   string // the chunk before normalization
	from, to int    // the place of the term in its normal form
	segments []segmentEnd
}

// segmentEnd is the end of a segment in the normal form and in the chunk. Unicode normalizes each segment independently
// (UAX #15, stable code points).
type segmentEnd struct{ normal, text int }

// NewOffsetMap returns the map of a text to its normal form.
func NewOffsetMap(source string) *OffsetMap { return &OffsetMap{source: source} }

// SourceSpan returns the byte range in the text of a byte range in its normal form.
func (m *OffsetMap) SourceSpan(from, to int) (int, int) {
	m.from, m.to = from, to
	return m.sourceOffsets(0)
}

// reset clears the map for the next chunk.
func (m *OffsetMap) reset() { m.source, m.segments = "", m.segments[:0] }

// setOffsets sets the place of a term in the normal form of a chunk. It is the place in the text too if both are equal.
func (a *Analyzer) setOffsets(origin, from, to int) {
	if a.offsetMap.source == "" {
		a.from, a.to = origin+from, origin+to
	} else {
		a.offsetMap.from, a.offsetMap.to = from, to
	}
}

// SourceOffsets returns the place of the current term in the text, in whole segments of its chunk. It costs as much as
// normalization, so it is computed only for highlights.
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

// segmentAt returns the segment of a byte of the normal form.
func (m *OffsetMap) segmentAt(at int) int {
	i, _ := slices.BinarySearchFunc(m.segments, at, func(s segmentEnd, at int) int {
		return cmp.Compare(s.normal, at+1)
	})
	return i
}

// buildSegments computes the segments of the chunk.
func (m *OffsetMap) buildSegments() {
	end := segmentEnd{}
	for end.text < len(m.source) {
		n := norm.NFKC.NextBoundaryInString(m.source[end.text:], true)
		end.normal += len(NormalizeNFKC(m.source[end.text : end.text+n]))
		end.text += n
		m.segments = append(m.segments, end)
	}
}
