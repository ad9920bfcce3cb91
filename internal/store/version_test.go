package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// rewrite gives a memory another text.
func rewrite(t testing.TB, s *store.Store, actor *identity.Actor, id loci.ID, content string) loci.Memory {
	t.Helper()
	m, err := store.Write(ctx, s, actor, func(tx *store.Tx) (loci.Memory, error) {
		h, err := memorydb.Open(tx, id, store.ToChange)
		if err != nil {
			return loci.Memory{}, err
		}
		next := h.Record()
		next.Content = content
		return h.Update(next, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// version reads what a memory was in a version, as a revert does.
func version(t testing.TB, s *store.Store, actor *identity.Actor, id loci.ID, n int) (loci.MemoryVersion, error) {
	t.Helper()
	return store.Write(ctx, s, actor, func(tx *store.Tx) (loci.MemoryVersion, error) {
		h, err := memorydb.Open(tx, id, store.ToChange)
		if err != nil {
			return loci.MemoryVersion{}, err
		}
		return h.Version(n)
	})
}

// paged reads the texts of all versions, newest first, by pages of a size.
func paged(t testing.TB, s *store.Store, actor *identity.Actor, id loci.ID, limit int) (texts []string) {
	t.Helper()
	p := page.Request{Limit: limit}
	for {
		list, err := store.Read(ctx, s, actor, func(tx *store.Tx) (page.List[loci.MemoryVersion], error) {
			return memorydb.Versions(tx, id, p)
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range list.Items {
			texts = append(texts, v.Content)
			p.After.At = loci.Time(v.Version)
		}
		if !list.HasMore {
			return texts
		}
	}
}

// continuation draws a text that goes on from another, begins it, or has nothing to
// do with it. Cuts fall between characters.
func continuation(t *rapid.T, texts []string) string {
	last := texts[len(texts)-1]
	more := rapid.SampledFrom([]string{"é", "日本", "🚢", "\n", " ", "a", "ab", "\u0301", "\r\n"}).Draw(t, "more")
	switch rapid.IntRange(0, 5).Draw(t, "how") {
	case 0, 1:
		return last + more
	case 2:
		at := rapid.IntRange(0, len(last)).Draw(t, "cut")
		for !utf8.RuneStart((last + "x")[at]) {
			at--
		}
		return last[:at] + rapid.SampledFrom([]string{"", more}).Draw(t, "instead")
	case 3:
		return rapid.SampledFrom(texts).Draw(t, "earlier")
	case 4:
		return more + last
	}
	return more
}

func TestVersionsKeepTheirTextsWhateverComesLater(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		d.Check(t, func(r *rapid.T) {
			texts := []string{"日本語 é\n"}
			id := add(t, s, ann, "", texts[0]).ID
			for range rapid.IntRange(1, 24).Draw(r, "changes") {
				next := continuation(r, texts)
				if m := rewrite(t, s, ann, id, next); next != texts[len(texts)-1] {
					texts = append(texts, next)
				} else if m.Version != len(texts) {
					r.Fatalf("the same text is version %d of %d", m.Version, len(texts))
				}
			}
			for n, want := range texts {
				if v, err := version(t, s, ann, id, n+1); err != nil || v.Content != want || v.Version != n+1 {
					r.Fatalf("version %d is %q, want %q: %v", n+1, v.Content, want, err)
				}
			}
			for _, n := range []int{0, -1, len(texts) + 1, 1<<31 - 1} {
				if _, err := version(t, s, ann, id, n); !loci.Is(err, loci.CodeNotFound) {
					r.Fatalf("version %d of %d: %v", n, len(texts), err)
				}
			}
			slices.Reverse(texts)
			for limit := 1; limit <= len(texts)+1; limit++ {
				if got := paged(t, s, ann, id, limit); !slices.Equal(got, texts) {
					r.Fatalf("by pages of %d the texts are\n%q\nwant\n%q", limit, got, texts)
				}
			}
		})
	})
}

func TestAppendIsStoredAsPrefixLength(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		m := add(t, s, ann, "", strings.Repeat("日本 ", 10_000))
		for i := range 50 {
			if _, err := newService(s).AppendMemory(ctx, ann,
				loci.AppendMemory{MemoryID: m.ID, Content: loci.Content(fmt.Sprint("line ", i))}); err != nil {
				t.Fatal(err)
			}
		}
		bytes := `SELECT CAST(coalesce(sum(octet_length(content)), 0) AS TEXT) FROM versions`
		if n := d.Query(t, bytes)[0]; n != "0" {
			t.Errorf("50 appends are kept in %s bytes", n)
		}
		if _, err := newService(s).VerifyMemory(ctx, ann,
			loci.VerifyMemory{MemoryID: m.ID, Confidence: new(loci.Confidence)}); err != nil {
			t.Fatal(err)
		}
		if n := d.Query(t, bytes)[0]; n != "0" {
			t.Errorf("a review is kept in %s bytes", n)
		}
		before, _ := lookUp(t, s, ann, m.ID)
		rewrite(t, s, ann, m.ID, "something else")
		if n := d.Query(t, bytes)[0]; n != fmt.Sprint(len(before.Content)) {
			t.Errorf("another text keeps %s bytes of %d", n, len(before.Content))
		}
		texts := paged(t, s, ann, m.ID, 7)
		if len(texts) != 53 || texts[1] != before.Content || texts[52] != m.Content ||
			texts[50] != m.Content+"\nline 0\nline 1" {
			t.Errorf("%d texts, of which the first is %d bytes", len(texts), len(texts[len(texts)-1]))
		}
	})
}

// textAt is the text of a version where each fifth one begins anew.
func textAt(version int) string {
	first := version - version%5
	lines := []string{fmt.Sprint("日本 ", first)}
	for n := first + 1; n <= version; n++ {
		lines = append(lines, fmt.Sprint("line ", n))
	}
	return strings.Join(lines, "\n")
}

func TestVersionsAreOfOneStateWhileOthersWrite(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		stores := []*store.Store{d.Open(t, store.Options{}), d.Open(t, store.Options{})}
		ann := user(t, stores[0], "ann")
		id := add(t, stores[0], ann, "", textAt(1)).ID
		const last = 150
		errs := runConcurrently(4, func(i int) error {
			if i == 0 {
				for n := 2; n <= last; n++ {
					rewrite(t, stores[0], ann, id, textAt(n))
				}
				return nil
			}
			for seen := 0; seen < last; {
				p := page.Request{Limit: i * 2}
				for above := 0; ; {
					list, err := store.Read(ctx, stores[i%2], ann,
						func(tx *store.Tx) (page.List[loci.MemoryVersion], error) {
							return memorydb.Versions(tx, id,
								p)
						})
					if err != nil {
						return err
					}
					for _, v := range list.Items {
						if v.Content != textAt(v.Version) || above > 0 && v.Version != above-1 {
							return fmt.Errorf("version %d after %d is %q", v.Version, above, v.Content)
						}
						above, seen = v.Version, max(seen, v.Version)
						p.After.At = loci.Time(v.Version)
					}
					if !list.HasMore {
						break
					}
				}
			}
			return nil
		})
		countDone(t, errs)
	})
}
