package store_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/retrieve"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// versionsOf returns all versions of a memory, oldest first.
func versionsOf(t testing.TB, s *store.Store, actor *identity.Actor, id loci.ID) []loci.MemoryVersion {
	t.Helper()
	list, err := store.Read(ctx, s, actor, func(tx *store.Tx) ([]loci.MemoryVersion, error) {
		list, err := memorydb.Versions(tx, id, page.Request{Limit: 1000})
		return list.Items, err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(list)
	for i, v := range list {
		if v.Version != i+1 {
			t.Fatalf("version %d stands at place %d", v.Version, i+1)
		}
	}
	return list
}

// lookUp reads a memory; whether it is there at all comes with it.
func lookUp(t testing.TB, s *store.Store, actor *identity.Actor, id loci.ID) (loci.Memory, bool) {
	t.Helper()
	m, err := store.Read(ctx, s, actor, func(tx *store.Tx) (loci.Memory, error) { return memorydb.Record(tx, id) })
	if err != nil && !loci.Is(err, loci.CodeNotFound) {
		t.Fatal(err)
	}
	return m, err == nil
}

// countDone counts those who succeeded; the others must have been told that code.
func countDone(t testing.TB, errs []error, codes ...loci.Code) (n int) {
	t.Helper()
	for _, err := range errs {
		switch {
		case err == nil:
			n++
		case !slices.ContainsFunc(codes, func(c loci.Code) bool { return loci.Is(err, c) }):
			t.Errorf("told %v", err)
		}
	}
	return n
}

func TestOfManyWhoAppendAtOnceNobodyIsLost(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		stores := []*store.Store{d.Open(t, store.Options{}), d.Open(t, store.Options{})}
		ann := user(t, stores[0], "ann")
		m := add(t, stores[0], ann, "", "log")
		const n = 32
		errs := runConcurrently(n, func(i int) error {
			_, err := newService(stores[i%2]).AppendMemory(ctx, ann,
				loci.AppendMemory{MemoryID: m.ID, Content: loci.Content(fmt.Sprint("line ", i))})
			return err
		})
		if got := countDone(t, errs); got != n {
			t.Fatalf("%d of %d", got, n)
		}
		after, _ := lookUp(t, stores[0], ann, m.ID)
		lines := strings.Split(after.Content, "\n")
		if len(lines) != n+1 || after.Version != n+1 {
			t.Errorf("%d lines and version %d", len(lines), after.Version)
		}
		slices.Sort(lines)
		if lines = slices.Compact(lines); len(lines) != n+1 {
			t.Errorf("%d different lines", len(lines))
		}
		versions := versionsOf(t, stores[1], ann, m.ID)
		for i, v := range versions {
			if v.Content != strings.Join(strings.SplitAfterN(after.Content, "\n", i+2)[:i+1], "") &&
				v.Content+"\n" != strings.Join(strings.SplitAfterN(after.Content, "\n", i+2)[:i+1], "") {
				t.Errorf("version %d is %q", v.Version, v.Content)
			}
		}
		if f := searchKeywords(t, stores[1], ann, "line", loci.MemoryFilter{}); len(versions) != n+1 ||
			f.KeywordCandidates != 1 || f.Hits[0].Memory.Content != after.Content {
			t.Errorf("%d versions, found %d", len(versions), f.KeywordCandidates)
		}
	})
}

func TestTwoWhoReplaceEachOtherMakeNoCircle(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		for range 2 { // PostgreSQL takes a second to see that they wait for each other
			a, b := add(t, s, ann, "", "one").ID, add(t, s, ann, "", "two").ID
			errs := runConcurrently(2, func(i int) error {
				in := loci.SupersedeMemory{MemoryID: a, ReplacementMemoryID: b}
				if i == 1 {
					in = loci.SupersedeMemory{MemoryID: b, ReplacementMemoryID: a}
				}
				_, err := newService(s).SupersedeMemory(ctx, ann, in)
				return err
			})
			if n := countDone(t, errs, loci.CodeStateConflict); n != 1 {
				t.Errorf("%d of two replaced the other: %v", n, errs)
			}
			checkLinks(t, s, ann, []loci.ID{a, b})
		}
	})
}

func TestAllWhoAreReplacedByOneAtOnceAreKnownToIt(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		stores := []*store.Store{d.Open(t, store.Options{}), d.Open(t, store.Options{})}
		ann := user(t, stores[0], "ann")
		by := add(t, stores[0], ann, "", "new")
		ids := []loci.ID{by.ID}
		const n = 12
		for i := range n {
			ids = append(ids, add(t, stores[0], ann, "", fmt.Sprint("old ", i)).ID)
		}
		supersede := func(i int) error {
			_, err := newService(stores[i%2]).SupersedeMemory(ctx, ann,
				loci.SupersedeMemory{MemoryID: ids[i+1], ReplacementMemoryID: by.ID})
			return err
		}
		if got := countDone(t, runConcurrently(n, supersede)); got != n {
			t.Errorf("%d of %d are replaced", got, n)
		}
		checkLinks(t, stores[0], ann, ids)
		if m, _ := lookUp(t, stores[0], ann, by.ID); len(m.Supersedes) != n || m.Version != 1 {
			t.Errorf("it replaces %d in version %d", len(m.Supersedes), m.Version)
		}
		errs := runConcurrently(n, func(i int) error {
			_, err := newService(stores[i%2]).DeleteMemory(ctx, ann,
				loci.DeleteMemory{MemoryID: ids[(i+3)%(n+1)]})
			return err
		})
		if got := countDone(t, errs); got != n {
			t.Errorf("%d of %d are deleted", got, n)
		}
		if m, there := lookUp(t, stores[0], ann, ids[2]); !there || m.SupersededBy != "" || m.Supersedes != nil {
			t.Errorf("left is %+v", m)
		}
	})
}

// checkLinks checks that links are stored at both ends, lead to existing memories, and form no cycle. A superseded
// memory must have or have had a replacement.
func checkLinks(t testing.TB, s *store.Store, actor *identity.Actor, ids []loci.ID) {
	t.Helper()
	all := map[loci.ID]loci.Memory{}
	for _, id := range ids {
		if m, there := lookUp(t, s, actor, id); there {
			all[id] = m
		}
	}
	for id, m := range all {
		by, there := all[m.SupersededBy]
		if m.SupersededBy != "" && (!there || m.Status != loci.MemorySuperseded ||
			!slices.Contains(by.Supersedes, id)) {
			t.Errorf("%s is %s by %s, which knows of %v", id, m.Status, m.SupersededBy, by.Supersedes)
		}
		for i, old := range m.Supersedes {
			if all[old].SupersededBy != id || slices.Contains(m.Supersedes[:i], old) {
				t.Errorf("%s replaces %v, one of which is replaced by %q", id, m.Supersedes, all[old].SupersededBy)
			}
		}
		steps := 0
		for at := m; at.SupersededBy != ""; at = all[at.SupersededBy] {
			if steps++; steps > len(all) {
				t.Fatalf("a circle at %s", id)
			}
		}
	}
}

func TestArchivingAndDeletingAtOnceEndsWithNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		for range 6 {
			m := add(t, s, ann, "", "short lived")
			errs := runConcurrently(3, func(i int) (err error) {
				switch i {
				case 0:
					_, err = newService(s).ArchiveMemory(ctx, ann, loci.ArchiveMemory{MemoryID: m.ID})
				case 1:
					_, err = newService(s).AppendMemory(ctx, ann,
						loci.AppendMemory{MemoryID: m.ID, Content: "more"})
				case 2:
					_, err = newService(s).DeleteMemory(ctx, ann, loci.DeleteMemory{MemoryID: m.ID})
				}
				return err
			})
			countDone(t, errs, loci.CodeNotFound, loci.CodeStateConflict)
			if errs[2] != nil {
				t.Errorf("deleting: %v", errs[2])
			}
			if _, there := lookUp(t, s, ann, m.ID); there {
				t.Error("it is still there")
			}
		}
		for _, table := range []string{"memories", "versions", "minhash_bands"} {
			if n := d.Query(t, `SELECT CAST(count(*) AS TEXT) FROM `+table)[0]; n != "0" {
				t.Errorf("%s rows of %s are left", n, table)
			}
		}
		if f := searchKeywords(t, s, ann, "short", loci.MemoryFilter{
			Include: []loci.Include{loci.IncludeArchived}}); f.KeywordCandidates != 0 {
			t.Errorf("%d are found", f.KeywordCandidates)
		}
		usage, err := store.Read(ctx, s, ann, func(tx *store.Tx) (loci.AccountStatus, error) { return tx.Usage() })
		if err != nil || usage.Usage.Memories != 0 || usage.Usage.Storage.UsedBytes != 0 {
			t.Errorf("%+v, %v", usage.Usage, err)
		}
	})
}

func TestOfManyWhoStoreTheSameAtOnceOneDoes(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann, bob := user(t, s, "ann"), user(t, s, "bob")
		crew := team(t, s, ann, map[*identity.Actor]loci.Role{bob: loci.RoleAdmin})
		atlas, err := newService(s).CreateAtlas(ctx, ann, loci.CreateAtlas{Name: "Shelf", WorkspaceID: crew})
		if err != nil {
			t.Fatal(err)
		}
		for round, wish := range []loci.OnDuplicate{loci.OnDuplicateReturn, loci.OnDuplicateVersion,
			loci.OnDuplicateVersion} {
			in := loci.CreateMemory{Content: loci.Content(fmt.Sprint("the tide ", round)),
				AtlasID:     atlas.Atlas.ID,
				OnDuplicate: wish,
				Source:      &loci.Source{Name: "log", URI: loci.SourceText(fmt.Sprint("/", round))}}
			const n = 8
			made, ids := make([]bool, n), make([]string, n)
			errs := runConcurrently(n, func(i int) error {
				in := in
				if round == 2 { // all texts differ: one is made, the others are its versions
					in.Content += loci.Content(fmt.Sprint(" of ", i))
				}
				out, err := newService(s).CreateMemory(ctx, []*identity.Actor{ann, bob}[i%2], in)
				made[i], ids[i] = out.Created(), string(out.Memory.ID)
				return err
			})
			if got := countDone(t, errs); got != n {
				t.Fatalf("%s: %d of %d", wish, got, n)
			}
			if len(slices.Compact(ids)) != 1 || len(slices.DeleteFunc(made, func(b bool) bool { return !b })) != 1 {
				t.Errorf("%s: %v are made", wish, ids)
			}
			if got, want := len(versionsOf(t, s, ann, loci.ID(ids[0]))), []int{1, 1, n}[round]; got != want {
				t.Errorf("%s: %d versions, want %d", wish, got, want)
			}
		}
	})
}

// These invariants hold for any order of concurrent changes.
func TestManyWhoDoEverythingAtOnceBreakNoRule(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		stores := []*store.Store{d.Open(t, store.Options{}), d.Open(t, store.Options{})}
		ann, bob := user(t, stores[0], "ann"), user(t, stores[0], "bob")
		crew := team(t, stores[0], ann, map[*identity.Actor]loci.Role{bob: loci.RoleAdmin})
		var ids []loci.ID
		for i := range 6 {
			ids = append(ids, add(t, stores[0], ann, crew, fmt.Sprint("begin ", i)).ID)
		}
		const writers, acts = 6, 40
		errs := runConcurrently(writers, func(i int) error {
			r := rand.New(rand.NewPCG(uint64(i), 7))
			s, actor := newService(stores[i%2]), []*identity.Actor{ann, bob}[r.IntN(2)]
			for n := range acts {
				if err := randomOperation(s, actor, r, ids, fmt.Sprint("word", i, "x", n)); err != nil &&
					!loci.Is(err, loci.CodeNotFound) && !loci.Is(err, loci.CodeStateConflict) &&
					!loci.Is(err, loci.CodeInvalidQuery) {
					return err
				}
			}
			return nil
		})
		countDone(t, errs)
		checkLinks(t, stores[0], ann, ids)
		for _, s := range append(stores, d.Open(t, store.Options{})) {
			checkConsistent(t, s, bob, crew, ids)
		}
	})
}

// randomOperation does one thing to one of the memories; the last two are deleted now and then.
func randomOperation(s *service.Service, actor *identity.Actor, r *rand.Rand, ids []loci.ID, word string) (err error) {
	id, other := ids[r.IntN(len(ids))], ids[r.IntN(len(ids))]
	content, sure := loci.Content(word), loci.Confidence(r.Float64())
	switch r.IntN(10) {
	case 0, 1, 2:
		_, err = s.AppendMemory(ctx, actor, loci.AppendMemory{MemoryID: id, Content: content})
	case 3:
		_, err = s.UpdateMemory(ctx, actor, loci.UpdateMemory{MemoryID: id, Content: &content})
	case 4:
		_, err = s.SupersedeMemory(ctx, actor, loci.SupersedeMemory{MemoryID: id,
			ReplacementMemoryID: other})
	case 5:
		_, err = s.ArchiveMemory(ctx, actor, loci.ArchiveMemory{MemoryID: id})
	case 6, 7:
		_, err = s.RestoreMemory(ctx, actor, loci.RestoreMemory{MemoryID: id})
	case 8:
		_, err = s.VerifyMemory(ctx, actor, loci.VerifyMemory{MemoryID: id, Confidence: &sure})
	case 9:
		if _, err = s.RevertMemory(ctx, actor, loci.RevertMemory{MemoryID: id, Version: 1}); r.IntN(6) == 0 {
			_, err = s.DeleteMemory(ctx, actor, loci.DeleteMemory{MemoryID: ids[4+r.IntN(2)]})
		}
	}
	return err
}

// checkConsistent checks lists, hits, versions and counters of a place against its rows.
func checkConsistent(t testing.TB, s *store.Store, actor *identity.Actor, crew loci.ID, all []loci.ID) {
	t.Helper()
	var active []loci.ID
	memories, bytes := 0, 0
	for _, id := range all {
		m, there := lookUp(t, s, actor, id)
		if !there {
			continue
		}
		memories, bytes = memories+1, bytes+len(m.Content)
		if m.Status == loci.MemoryActive {
			active = append(active, id)
		}
		versions := versionsOf(t, s, actor, id)
		last := versions[len(versions)-1]
		if last.Content != m.Content || last.Status != m.Status || last.Version != m.Version ||
			!strings.HasPrefix(versions[0].Content, "begin ") {
			t.Errorf("%s is %+v, and its versions end with %+v", id, m, last)
		}
		for i, v := range versions[1:] {
			if v.Content == "" || v.CreatedAt <= versions[i].CreatedAt {
				t.Errorf("version %d of %s: %q made at %v, after %v", v.Version, id, v.Content, v.CreatedAt,
					versions[i].CreatedAt)
			}
		}
		word := m.Content[strings.LastIndex(m.Content, "\n")+1:]
		include := loci.MemoryFilter{WorkspaceID: crew, Include: []loci.Include{loci.IncludeArchived,
			loci.IncludeSuperseded}}
		if f := searchKeywords(t, s, actor, word, include); !slices.ContainsFunc(f.Hits, func(f retrieve.Hit) bool {
			return f.Memory.ID == id && f.Memory.Content == m.Content
		}) {
			t.Errorf("%s is not found by %q", id, word)
		}
	}
	slices.SortFunc(active, func(a, b loci.ID) int { return cmp.Compare(b, a) })
	if got := ids(t, s, actor, loci.MemoryFilter{WorkspaceID: crew}, 50); !slices.Equal(got, active) {
		t.Errorf("listed are %v, want %v", got, active)
	}
	var counted, stored int
	store.QueryRow(t, s,
		`SELECT (SELECT sum(a.memories) FROM atlases a WHERE a.workspace = w.row_id) + (SELECT
			coalesce(sum(c.memories), 0) FROM index_log c WHERE c.workspace = w.row_id)
		FROM workspaces w WHERE w.id = ?1`, crew, &counted)
	store.QueryRow(t, s,
		`SELECT (SELECT sum(a.bytes) FROM atlases a WHERE a.workspace = w.row_id) + (SELECT coalesce(sum(c.bytes), 0)
			FROM index_log c WHERE c.workspace = w.row_id)
		FROM workspaces w WHERE w.id = ?1`, crew, &stored)
	if counted != memories || stored != bytes {
		t.Errorf("%d memories of %d bytes are counted, want %d of %d", counted, stored, memories, bytes)
	}
}

// Archived and superseded memories are no near duplicates, even if there are very many.
func TestArchivedMemoriesHideNoNearDuplicate(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		const text = "The harbour opens at six in the morning and closes when the last boat is in."
		kept := add(t, s, ann, "", text)
		for range 40 {
			if _, err := newService(s).ArchiveMemory(ctx, ann,
				loci.ArchiveMemory{MemoryID: add(t, s, ann, "", text).ID}); err != nil {
				t.Fatal(err)
			}
		}
		asked := add(t, s, ann, "", text)
		out, err := newService(s).SimilarMemories(ctx, ann, loci.SimilarMemories{MemoryID: asked.ID})
		want := loci.Similarity{ID: kept.ID, Score: 1, Title: kept.Title}
		if err != nil || len(out.Similar) != 1 || out.Similar[0] != want {
			t.Errorf("similar are %v, %v", out.Similar, err)
		}
	})
}

// A row of minhash_bands may be left over, under a row id that is used again.
func TestStaleMinHashBandIsIgnored(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		m := add(t, s, ann, "", "two words")
		if err := store.WriteRaw(s, func(exec store.Exec) error {
			return exec(`DELETE FROM memories WHERE id = ?1`, m.ID)
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := tryAdd(s, ann, "", "two words"); err != nil {
			t.Error(err)
		}
	})
}

func TestReplacementOfManyIsRefused(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		old, by := add(t, s, ann, "", "the old text").ID, add(t, s, ann, "", "the new text").ID
		for size, code := range map[int]loci.Code{100: loci.CodeStateConflict, 99: ""} {
			err := s.DB().WriteTx(ctx, "", func(tx *sqldb.Tx) error {
				return memorydb.SetSupersedes(tx, by, make([]loci.ID, size))
			})
			if err != nil {
				t.Fatal(err)
			}
			_, err = store.Write(ctx, s, ann, func(tx *store.Tx) (out loci.Memory, err error) {
				m, err := memorydb.Open(tx, old, store.ToMove)
				if err != nil {
					return out, err
				}
				r, err := m.Replacement(by)
				if err != nil {
					return out, err
				}
				if out, err = m.Supersede(r); err == nil {
					err = errUndone
				}
				return out, err
			})
			if code == "" && !errors.Is(err, errUndone) || code != "" && !loci.Is(err, code) {
				t.Errorf("a replacement of %d: %v", size, err)
			}
		}
	})
}

var errUndone = errors.New("undone")
