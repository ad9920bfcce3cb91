package store_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/store/storetest"
)

func TestOutsidersReadNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann, bob, eve := user(t, s, "ann"), user(t, s, "bob"), user(t, s, "eve")
		crew := team(t, s, ann, map[*identity.Actor]loci.Role{bob: loci.RoleMember})
		shared, private := add(t, s, ann, crew, "the sky is blue"), add(t, s, ann, "", "the blue diary")
		for _, c := range []struct {
			who  *identity.Actor
			want []loci.ID
		}{{ann, []loci.ID{private.ID, shared.ID}}, {bob, []loci.ID{shared.ID}}, {eve, nil}} {
			if got := ids(t, s, c.who, loci.MemoryFilter{}, 10); !slices.Equal(got, c.want) {
				t.Errorf("%s lists %v, want %v", c.who.Email, got, c.want)
			}
			hits := searchKeywords(t, s, c.who, "blue", loci.MemoryFilter{})
			if len(hits.Hits) != len(c.want) || hits.KeywordCandidates != len(c.want) {
				t.Errorf("%s finds %d of %d, want %d", c.who.Email, len(hits.Hits), hits.KeywordCandidates, len(c.want))
			}
			for _, m := range []loci.Memory{shared, private} {
				_, err := store.Read(ctx, s, c.who, func(tx *store.Tx) (loci.Memory, error) {
					return memorydb.Record(tx, m.ID)
				})
				if mine := slices.Contains(c.want, m.ID); mine != (err == nil) ||
					!mine && !loci.Is(err, loci.CodeNotFound) {
					t.Errorf("%s reads %s: %v", c.who.Email, m.Title, err)
				}
			}
		}
		if _, err := tryAdd(s, eve, crew, "planted"); !loci.Is(err, loci.CodeNotFound) {
			t.Errorf("an outsider writes: %v", err)
		}
		narrowed := *ann
		narrowed.GrantedWorkspaces = []loci.ID{crew}
		if got := ids(t, s, &narrowed, loci.MemoryFilter{}, 10); !slices.Equal(got, []loci.ID{shared.ID}) {
			t.Errorf("a token that was granted one workspace sees %v", got)
		}
		narrowed.GrantedWorkspaces = []loci.ID{}
		if got := ids(t, s, &narrowed, loci.MemoryFilter{}, 10); len(got) != 0 {
			t.Errorf("a token that was granted nothing sees %v", got)
		}
	})
}

func TestRolesDecideWhoGetsAHandle(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann, bob, cid, eve := user(t, s, "ann"), user(t, s, "bob"), user(t, s, "cid"), user(t, s, "eve")
		crew := team(t, s, ann, map[*identity.Actor]loci.Role{bob: loci.RoleAdmin, cid: loci.RoleMember})
		for _, c := range []struct {
			who   *identity.Actor
			least loci.Role
			code  loci.Code
		}{{ann, loci.RoleOwner, ""}, {bob, loci.RoleOwner, loci.CodeForbidden}, {bob, loci.RoleAdmin, ""},
			{cid, loci.RoleAdmin, loci.CodeForbidden}, {cid, loci.RoleMember, ""},
			{eve, loci.RoleMember, loci.CodeNotFound}} {
			_, err := store.Write(ctx, s, c.who, func(tx *store.Tx) (loci.Empty, error) {
				_, err := tx.Workspace(crew, c.least, store.ToChange)
				return loci.Empty{}, err
			})
			if c.code == "" && err != nil || c.code != "" && !loci.Is(err, c.code) {
				t.Errorf("%s as %s: %v, want %q", c.who.Email, c.least, err, c.code)
			}
		}
	})
}

func TestListsMergeWorkspacesAndStopAtTheFilter(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		places := []loci.ID{"", team(t, s, ann, nil), team(t, s, ann, nil)}
		var made []loci.Memory
		for i := range 30 {
			made = append(made, add(t, s, ann, places[i%3], strings.Repeat("x", i+1), func(m *loci.Memory) {
				m.Type = loci.MemoryTypes[i%6]
				if i%4 == 0 {
					m.Tags = []string{"a", `","`, `b"c`}
				}
			}))
		}
		slices.Reverse(made)
		want := func(keep func(loci.Memory) bool) (out []loci.ID) {
			for _, m := range made {
				if keep(m) {
					out = append(out, m.ID)
				}
			}
			return out
		}
		team := made[len(made)-2].WorkspaceID
		for name, c := range map[string]struct {
			f    loci.MemoryFilter
			keep func(loci.Memory) bool
		}{
			"all": {loci.MemoryFilter{}, func(loci.Memory) bool { return true }},
			"workspace": {loci.MemoryFilter{WorkspaceID: team},
				func(m loci.Memory) bool { return m.WorkspaceID == team }},
			"atlas": {loci.MemoryFilter{AtlasID: made[0].AtlasID}, func(m loci.Memory) bool {
				return m.AtlasID == made[0].AtlasID
			}},
			"kinds": {loci.MemoryFilter{Type: []loci.MemoryType{loci.TypeTask, loci.TypeFact}},
				func(m loci.Memory) bool {
					return m.Type == loci.TypeTask || m.Type == loci.TypeFact
				}},
			"tags":    {loci.MemoryFilter{Tags: loci.Tags{"a", `b"c`}}, func(m loci.Memory) bool { return len(m.Tags) > 0 }},
			"odd tag": {loci.MemoryFilter{Tags: loci.Tags{`","`}}, func(m loci.Memory) bool { return len(m.Tags) > 0 }},
			"no tag":  {loci.MemoryFilter{Tags: loci.Tags{`a","`}}, func(m loci.Memory) bool { return false }},
		} {
			var got []loci.ID
			p := page.Request{Limit: 4}
			for {
				list, err := store.Read(ctx, s, ann, func(tx *store.Tx) (page.List[loci.Memory], error) {
					return memorydb.List(tx, c.f, p)
				})
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range list.Items {
					got = append(got, m.ID)
					p.After = page.Key{At: m.CreatedAt, ID: m.ID}
				}
				if !list.HasMore {
					break
				}
			}
			if w := want(c.keep); !slices.Equal(got, w) {
				t.Errorf("%s: %d memories, want %d", name, len(got), len(w))
			}
		}
	})
}

// Memories of many workspaces that were made at one moment come in the order of their ids, and none twice.
func TestListsMergeManyWorkspacesWithEqualTimes(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann, eve := user(t, s, "ann"), user(t, s, "eve")
		var want []loci.Memory
		for i := range 120 {
			place := team(t, s, ann, nil)
			for range 1 + i%3 {
				want = append(want, add(t, s, ann, place, fmt.Sprint("memory of place ", i)))
			}
		}
		add(t, s, eve, "", "of somebody else")
		d.Exec(t, `UPDATE memories SET created_at = created_at / 20000 * 20000`)
		list := func(p page.Request) page.List[loci.Memory] {
			t.Helper()
			l, err := store.Read(ctx, s, ann, func(tx *store.Tx) (page.List[loci.Memory], error) {
				return memorydb.List(tx, loci.MemoryFilter{}, p)
			})
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		for i := range want {
			want[i].CreatedAt = want[i].CreatedAt / 20000 * 20000
		}
		slices.SortFunc(want, func(a, b loci.Memory) int {
			return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), cmp.Compare(b.ID, a.ID))
		})
		for _, limit := range []int{1, 7, 100} {
			got, p := []loci.ID{}, page.Request{Limit: limit}
			for more := true; more; {
				l := list(p)
				for _, m := range l.Items {
					got = append(got, m.ID)
					p.After = page.Key{At: m.CreatedAt, ID: m.ID}
				}
				more = l.HasMore
			}
			if !slices.EqualFunc(got, want, func(id loci.ID, m loci.Memory) bool { return id == m.ID }) {
				t.Errorf("pages of %d hold %d memories, want %d in order", limit, len(got), len(want))
			}
		}
	})
}
