package search

import (
	"cmp"
	"slices"

	"golang.org/x/text/unicode/norm"
)

// moved is a chunk whose normal form is another text, in which characters stand
// elsewhere: ligatures, wide letters, accents by themselves, letters of Hangul.
type moved struct {
	text     string // the chunk as it is written
	from, to int    // where in its normal form the term stands
	segments []segmentEnd
}

// segmentEnd is where a segment ends in the normal form and in the chunk. Segments
// are what Unicode normalizes each by itself (UAX #15, stable code points).
type segmentEnd struct{ normal, text int }

// forget empties it for the next chunk.
func (m *moved) forget() { m.text, m.segments = "", m.segments[:0] }

// stand notes where in the normal form of a chunk a term stands, and in the text, if
// these are alike.
func (a *analyzer) stand(origin, from, to int) {
	if a.moved.text == "" {
		a.from, a.to = origin+from, origin+to
	} else {
		a.moved.from, a.moved.to = from, to
	}
}

// place is where in the text a term stands, in whole segments of its chunk. To map it
// back costs as much as the normal form did, so it is done only for what is marked.
func (a *analyzer) place() (from, to int) {
	if a.moved.text == "" {
		return a.from, a.to
	}
	return a.moved.place(a.from)
}

func (m *moved) place(origin int) (from, to int) {
	if len(m.segments) == 0 {
		m.part()
	}
	first := m.holds(m.from)
	if first > 0 {
		from = m.segments[first-1].text
	}
	return origin + from, origin + m.segments[m.holds(m.to-1)].text
}

// holds finds the segment of a byte of the normal form.
func (m *moved) holds(at int) int {
	i, _ := slices.BinarySearchFunc(m.segments, at, func(s segmentEnd, at int) int { return cmp.Compare(s.normal, at+1) })
	return i
}

// part finds the segments of the chunk.
func (m *moved) part() {
	end := segmentEnd{}
	for end.text < len(m.text) {
		n := norm.NFKC.NextBoundaryInString(m.text[end.text:], true)
		end.normal += len(normal(m.text[end.text : end.text+n]))
		end.text += n
		m.segments = append(m.segments, end)
	}
}
