package dispatch

import (
	"context"
	"slices"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/testenv"
)

// fakeChanges are the numbers of committed changes.
type fakeChanges struct {
	committed []int64
	ended     []loci.ID
}

func (f *fakeChanges) Last(_ context.Context, limit int) (list []int64, err error) {
	return f.After(context.Background(), slices.Max(append([]int64{0}, f.committed...))-int64(limit), nil)
}

func (f *fakeChanges) After(_ context.Context, number int64, missing []int64) (list []int64, err error) {
	for _, n := range f.committed {
		if n > number || slices.Contains(missing, n) {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list, nil
}

// Watched has all changes for all users but "other".
func (f *fakeChanges) Watched(_ context.Context, numbers []int64, users []loci.ID) (map[loci.ID][]int64, error) {
	of := map[loci.ID][]int64{}
	for _, u := range users {
		if u != "other" {
			of[u] = numbers
		}
	}
	return of, nil
}

func (f *fakeChanges) Ended(context.Context, []loci.ID) ([]loci.ID, error) { return f.ended, nil }

// TestStreamsGetEachLaterChangeOnce commits changes in another order than that of their numbers.
func TestStreamsGetEachLaterChangeOnce(t *testing.T) {
	t.Parallel()
	f := &fakeChanges{committed: []int64{4990, 5000}}
	c := NewChanges(f)
	var got [2][]int64
	streams := []*ChangeStream{testenv.Must(c.Subscribe(t.Context(), "ann", "a"))(t)}
	for _, round := range [][]int64{{5003, 4995}, {5001}, {}, {5002, 5004}} {
		f.committed = append(f.committed, round...)
		testenv.NoError(t, c.Look(t.Context()))
		for i, s := range streams {
			numbers, ok := s.Take()
			testenv.Equal(t, ok, true)
			got[i] = append(got[i], numbers...)
		}
		if len(streams) == 1 {
			streams = append(streams, testenv.Must(c.Subscribe(t.Context(), "ann", "b"))(t))
		}
	}
	testenv.EqualSlices(t, got[0], []int64{4995, 5003, 5001, 5002, 5004})
	testenv.EqualSlices(t, got[1], []int64{5001, 5002, 5004})
	for _, s := range streams {
		s.Close()
		s.Close()
	}
	testenv.Equal(t, c.Streams(), 0)
}

func TestChangeStreamsEnd(t *testing.T) {
	t.Parallel()
	f := &fakeChanges{ended: []loci.ID{"gone"}}
	c := NewChanges(f)
	gone, stays := testenv.Must(c.Subscribe(t.Context(), "ann", "gone"))(t),
		testenv.Must(c.Subscribe(t.Context(), "ann", "stays"))(t)
	other := testenv.Must(c.Subscribe(t.Context(), "other", "another"))(t)
	testenv.NoError(t, c.Look(t.Context()))
	<-gone.Ended()
	select {
	case <-stays.Ended():
		t.Error("another stream ended")
	default:
	}
	for n := range int64(maxPending) {
		f.committed = append(f.committed, n+1)
	}
	testenv.NoError(t, c.Look(t.Context()))
	if numbers, ok := stays.Take(); !ok || len(numbers) != maxPending {
		t.Errorf("%d %v", len(numbers), ok)
	}
	for range 2 {
		for range maxPending {
			f.committed = append(f.committed, int64(len(f.committed)+1))
		}
		testenv.NoError(t, c.Look(t.Context()))
	}
	if numbers, ok := stays.Take(); ok {
		t.Errorf("a stream that is behind goes on after %d changes", len(numbers))
	}
	if numbers, ok := other.Take(); !ok || numbers != nil {
		t.Errorf("a stream of another user has %d changes", len(numbers))
	}
}
