package index

import (
	"slices"
	"unique"
)

// Filter says which documents may be hits. It moves no score, but that one atlas
// alone may have statistics of its own: see View.Answer.
type Filter struct {
	Atlases  []int64  // nil allows all, empty none
	Kinds    uint64   // bit per kind, 0 allows all
	Statuses uint64   // bit per status, 0 allows all
	Tags     []string // all of them
}

func allows(mask uint64, v uint8) bool {
	return mask == 0 || mask>>v&1 == 1
}

// Matches reports whether the filter admits a document.
func (f *Filter) Matches(a *DocAttributes) bool {
	if !allows(f.Kinds, a.Kind) || !allows(f.Statuses, a.Status) {
		return false
	}
	if f.Atlases != nil && !slices.Contains(f.Atlases, a.Atlas) {
		return false
	}
	for _, t := range f.Tags {
		if !slices.Contains(a.Tags, t) {
			return false
		}
	}
	return true
}

// SegmentFilter is a filter applied to the tables of one segment, so that a
// document costs a few look-ups at most. A field that is nil or 0 allows every
// document of the segment.
type SegmentFilter struct {
	columns          *docColumns
	kinds, statuses  uint64
	atlases, tagSets []bool
}

// Filter applies a filter to the segment.
func (s *Segment) Filter(f *Filter) SegmentFilter {
	c := s.docColumns
	g := SegmentFilter{columns: c, kinds: effectiveMask(f.Kinds, c.kindMask),
		statuses: effectiveMask(f.Statuses, c.statusMask)}
	if f.Atlases != nil {
		g.atlases = make([]bool, len(c.atlases))
		for i, a := range c.atlases {
			g.atlases[i] = slices.Contains(f.Atlases, a)
		}
		if !slices.Contains(g.atlases, false) {
			g.atlases = nil
		}
	}
	if len(f.Tags) > 0 {
		g.tagSets = f.tagSets(c)
	}
	return g
}

// effectiveMask is a mask, or 0 where it allows all the values seen.
func effectiveMask(mask, seen uint64) uint64 {
	if seen&^mask == 0 {
		return 0
	}
	return mask
}

func (f *Filter) tagSets(c *docColumns) []bool {
	var wanted []uint32
	for _, t := range f.Tags {
		i := slices.Index(c.tags, unique.Make(t))
		if i < 0 {
			return make([]bool, len(c.tagSets))
		}
		wanted = append(wanted, uint32(i))
	}
	sets := make([]bool, len(c.tagSets))
	for i, set := range c.tagSets {
		sets[i] = !slices.ContainsFunc(wanted, func(t uint32) bool { return !slices.Contains(set, t) })
	}
	return sets
}

// MatchesAll reports whether the filter admits every document of its segment.
func (g *SegmentFilter) MatchesAll() bool {
	return g.kinds == 0 && g.statuses == 0 && g.atlases == nil && g.tagSets == nil
}

// Matches reports whether the filter admits a document of its segment.
func (g *SegmentFilter) Matches(doc int) bool {
	c := g.columns
	return allows(g.statuses, c.status[doc]) && allows(g.kinds, c.kind[doc]) &&
		(g.atlases == nil || g.atlases[c.atlas[doc]]) && (g.tagSets == nil || g.tagSets[c.tagSet[doc]])
}

// FilteredDocs are the documents of a snapshot that match a filter. They implement vector.Documents.
type FilteredDocs struct {
	*Snapshot
	filter  Filter
	filters []SegmentFilter // one for each segment
}

// Filtered returns the documents that match a filter.
func (v *Snapshot) Filtered(f Filter) *FilteredDocs {
	d := &FilteredDocs{Snapshot: v, filter: f}
	for _, g := range v.segments {
		d.filters = append(d.filters, g.Filter(&f))
	}
	return d
}

// NumSegments returns the number of segments.
func (d *FilteredDocs) NumSegments() int { return len(d.segments) }

// Memories returns the memories of a segment in ascending order.
func (d *FilteredDocs) Memories(segment int) []int64 { return d.segments[segment].memories }

// IsDeleted reports whether a document of a segment has a tombstone.
func (d *FilteredDocs) IsDeleted(segment, doc int) bool {
	return isSet(d.segments[segment].deleted, doc)
}

// Matches reports whether the filter admits a document of a segment, or a row where segment is -1.
func (d *FilteredDocs) Matches(segment, doc int) bool {
	if segment < 0 {
		return d.filter.Matches(&d.rows[doc])
	}
	return d.filters[segment].Matches(doc)
}

// MatchesAll reports whether the filter excludes no document of any segment.
func (d *FilteredDocs) MatchesAll() bool {
	return !slices.ContainsFunc(d.filters, func(g SegmentFilter) bool { return !g.MatchesAll() })
}
