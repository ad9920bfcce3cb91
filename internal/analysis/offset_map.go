package analysis

import (
	"cmp"
	"slices"

	"golang.org/x/text/unicode/norm"
)

// OffsetMap maps the normal form of a token to its source. They differ in ligatures, fullwidth forms, combining
// accents, and conjoining jamo.
type OffsetMap struct {
	source       string // the token before normalization
	from, to     int    // byte range of the term in the normal form
	normSegments []normSegment
}

// normSegment is the end of a segment of normalization, in the normal form and in the token. Unicode normalizes each
// segment independently (UAX #15, stable code points).
type normSegment struct{ normal, text int }

// NewOffsetMap returns the map of a text to its normal form.
func NewOffsetMap(source string) *OffsetMap { return &OffsetMap{source: source} }

// SourceSpan returns the byte range in the text of a byte range in its normal form.
func (m *OffsetMap) SourceSpan(from, to int) (int, int) {
	m.from, m.to = from, to
	return m.sourceOffsets(0)
}

// reset clears the map for the next token.
func (m *OffsetMap) reset() { m.source, m.normSegments = "", m.normSegments[:0] }

// setOffsets sets the byte range of a term in the normal form of a token. It is the range in the text too if both are
// equal.
func (a *Analyzer) setOffsets(origin, from, to int) {
	if a.offsetMap.source == "" {
		a.from, a.to = origin+from, origin+to
	} else {
		a.offsetMap.from, a.offsetMap.to = from, to
	}
}

// SourceOffsets returns the byte range of the current term in the text, in whole segments of its token. It costs as
// much as normalization, so it is computed only for highlights.
func (a *Analyzer) SourceOffsets() (from, to int) {
	if a.offsetMap.source == "" {
		return a.from, a.to
	}
	return a.offsetMap.sourceOffsets(a.from)
}

func (m *OffsetMap) sourceOffsets(origin int) (from, to int) {
	if len(m.normSegments) == 0 {
		m.buildNormSegments()
	}
	first := m.normSegmentAt(m.from)
	if first > 0 {
		from = m.normSegments[first-1].text
	}
	return origin + from, origin + m.normSegments[m.normSegmentAt(m.to-1)].text
}

// normSegmentAt returns the segment of a byte of the normal form.
func (m *OffsetMap) normSegmentAt(at int) int {
	i, _ := slices.BinarySearchFunc(m.normSegments, at, func(s normSegment, at int) int {
		return cmp.Compare(s.normal, at+1)
	})
	return i
}

// buildNormSegments computes the segments of the token.
func (m *OffsetMap) buildNormSegments() {
	end := normSegment{}
	for end.text < len(m.source) {
		n := norm.NFKC.NextBoundaryInString(m.source[end.text:], true)
		end.normal += len(NormalizeNFKC(m.source[end.text : end.text+n]))
		end.text += n
		m.normSegments = append(m.normSegments, end)
	}
}
