// Package indextest keeps segments in memory for the tests of packages that read the index.
package indextest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/index"
)

// A Store keeps encoded segments by their ids.
type Store struct {
	Headers    map[int64][]byte
	Pages      map[int64][][]byte
	Tombstones map[int64][]byte
}

// ErrNoPage is the error of a page that the store does not have.
var ErrNoPage = errors.New("no such page")

// NewStore returns an empty store.
func NewStore() *Store {
	return &Store{map[int64][]byte{}, map[int64][][]byte{}, map[int64][]byte{}}
}

// Fetch returns a page of a segment.
func (s *Store) Fetch(segment int64, page int) ([]byte, error) {
	if p := s.Pages[segment]; page < len(p) {
		return p[page], nil
	}
	return nil, ErrNoPage
}

// Put stores a segment.
func (s *Store) Put(id int64, b index.EncodedSegment) { s.Headers[id], s.Pages[id] = b.Header, b.Pages }

// Open opens a stored segment.
func (s *Store) Open(id int64) (*index.Segment, error) {
	return index.Open(id, s.Headers[id], s.Tombstones[id])
}

// Flush stores updates as one segment, and returns the snapshot of it alone.
func (s *Store) Flush(t testing.TB, id int64, updates []index.DocUpdate) *index.Snapshot {
	t.Helper()
	blob := index.Build(updates)
	s.Put(id, blob)
	segment, err := s.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	return index.NewSnapshot([]*index.Segment{segment})
}

// Update returns the update of a memory without a title.
func Update(seq, memory int64, text string) index.DocUpdate {
	return index.DocUpdate{Seq: seq, DocAttributes: index.DocAttributes{Memory: memory},
		Document: index.Analyze("", text)}
}

// Freq returns the frequency of a term in a document, or zero.
func Freq(d index.Document, term string) uint8 {
	i, ok := slices.BinarySearchFunc(d.Terms, term, func(e index.TermFreq, t string) int {
		return strings.Compare(e.Term, t)
	})
	if !ok {
		return 0
	}
	return d.Terms[i].Freq
}

// CheckDocument fails a test unless the terms of a document are sorted, distinct and valid.
func CheckDocument(t testing.TB, d index.Document) {
	t.Helper()
	last := ""
	for _, e := range d.Terms {
		if e.Freq == 0 || e.Term <= last || !utf8.ValidString(e.Term) || len(e.Term) > analysis.MaxTermBytes {
			t.Errorf("bad term %q with frequency %d after %q", e.Term, e.Freq, last)
		}
		last = e.Term
	}
}
