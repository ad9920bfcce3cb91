package loci_test

import (
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/loci-memory/loci"
)

// pages returns a function that reads pages of the items, which ends after the last one.
func pages(list ...[]int) func(loci.Paging) ([]int, loci.Page, error) {
	return func(p loci.Paging) ([]int, loci.Page, error) {
		i, _ := strconv.Atoi(string(p.Cursor))
		if i == len(list)-1 {
			return list[i], loci.Page{}, nil
		}
		return list[i], loci.Page{NextCursor: strconv.Itoa(i + 1)}, nil
	}
}

// collect returns the items of a sequence and the error that ends it.
func collect(t *testing.T, first loci.Paging, read func(loci.Paging) ([]int, loci.Page, error)) (all []int, err error) {
	t.Helper()
	for item, e := range loci.AllItems(first, read) {
		if err != nil {
			t.Fatal("the sequence goes on after an error")
		}
		if err = e; err == nil {
			all = append(all, item)
		}
	}
	return all, err
}

func TestAllItemsReadsEveryPage(t *testing.T) {
	t.Parallel()
	list := pages([]int{1, 2}, nil, []int{3}, []int{})
	for cursor, want := range map[loci.Cursor][]int{"": {1, 2, 3}, "2": {3}} {
		if got, err := collect(t, loci.Paging{Cursor: cursor}, list); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v %v", cursor, got, err)
		}
	}
	empty := slices.Repeat([][]int{nil}, 100)
	if got, err := collect(t, loci.Paging{}, pages(append(empty, []int{1})...)); err != nil || len(got) != 1 {
		t.Errorf("empty pages before the last one: %v %v", got, err)
	}
	if all, err := collect(t, loci.Paging{}, pages(slices.Repeat([][]int{{1}}, 100_000)...)); err != nil ||
		len(all) != 100_000 {
		t.Errorf("the longest list: %d items, %v", len(all), err)
	}
}

func TestAllItemsKeepsLimitAndStopsWithTheLoop(t *testing.T) {
	t.Parallel()
	reads := 0
	for item, err := range loci.AllItems(loci.Paging{Limit: 7}, func(p loci.Paging) ([]int, loci.Page, error) {
		if reads++; p.Limit != 7 {
			t.Errorf("page %d has the limit %d", reads, p.Limit)
		}
		return []int{reads}, loci.Page{NextCursor: strconv.Itoa(reads)}, nil
	}) {
		if err != nil {
			t.Fatal(err)
		}
		if item == 3 {
			break
		}
	}
	if reads != 3 {
		t.Errorf("%d pages were read", reads)
	}
}

func TestAllItemsEndsWithErrorOfPage(t *testing.T) {
	t.Parallel()
	failed := errors.New("the page cannot be read")
	got, err := collect(t, loci.Paging{}, func(p loci.Paging) ([]int, loci.Page, error) {
		if p.Cursor == "" {
			return []int{1}, loci.Page{NextCursor: "c"}, nil
		}
		return []int{2}, loci.Page{NextCursor: "d"}, failed
	})
	if !errors.Is(err, failed) || !slices.Equal(got, []int{1}) {
		t.Errorf("%v %v", got, err)
	}
}

func TestAllItemsEndsListWithoutEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		items []int
		next  func(read int) int // the cursor after a number of pages
		most  int                // pages
	}{
		"the same cursor":       {[]int{1}, func(int) int { return 1 }, 2},
		"a cycle":               {[]int{1}, func(read int) int { return read % 3 }, 10},
		"a cycle after a start": {[]int{1}, func(read int) int { return min(read, 50+read%5) }, 200},
		"empty pages":           {nil, func(read int) int { return read }, 101},
		"new cursors":           {[]int{1}, func(read int) int { return read }, 100_000},
	} {
		read := 0
		_, err := collect(t, loci.Paging{}, func(loci.Paging) ([]int, loci.Page, error) {
			read++
			return c.items, loci.Page{NextCursor: "c" + strconv.Itoa(c.next(read))}, nil
		})
		if !loci.Is(err, loci.CodeUnavailable) || read > c.most {
			t.Errorf("%s: %v after %d pages", name, err, read)
		}
	}
}
