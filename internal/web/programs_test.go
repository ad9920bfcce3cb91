package web_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
)

func (s *fakeService) ListGrants(_ context.Context, _ *identity.Actor, in loci.ListGrants) (loci.Grants, error) {
	if int(in.Limit) < len(s.grants) {
		return loci.Grants{}, loci.Errorf(loci.CodeUnavailable, "The database is away.")
	}
	return loci.Grants{Grants: s.grants}, nil
}

func (s *fakeService) RevokeGrant(_ context.Context, _ *identity.Actor, in loci.RevokeGrant) (loci.Empty, error) {
	s.note("revoke", string(in.GrantID))
	for i, g := range s.grants {
		if g.ID == in.GrantID {
			s.grants = append(s.grants[:i:i], s.grants[i+1:]...)
			return loci.Empty{}, nil
		}
	}
	return loci.Empty{}, loci.NewError(loci.CodeNotFound)
}

func grant(id loci.ID, name string, workspaces ...string) loci.Grant {
	g := loci.Grant{ID: id, Client: loci.GrantClient{Name: name}, RedirectHost: "127.0.0.1:4711"}
	for _, w := range workspaces {
		g.Workspaces = append(g.Workspaces, loci.GrantWorkspace{Name: w})
	}
	return g
}

func TestStartPageShowsAndEndsGrants(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, false)
	b.signIn("ann")
	if got := b.get("/"); strings.Contains(got.text, "Connected programs") {
		t.Error("no program is connected:", got.text)
	}
	used := grant("g2", "<b>Bold\u202e", "One", "Two", "Three", "Four", "Five", "Six", "Seven")
	used.LastUsedAt = loci.Time(time.Date(2026, 11, 24, 1, 0, 0, 0, time.UTC).UnixMicro())
	b.grants = []loci.Grant{grant("g1", "Claude Code", "Personal", "<i>Crew"), used}
	got := b.get("/")
	got.expect(t, 200, "/", "Connected programs", "Claude Code", "<i>Crew", "not used yet", `name="grantId" value="g1"`,
		"last used on 2026-11-24", "Four", "and 2 more")
	if strings.Contains(got.raw, "<b>") || strings.Contains(got.raw, "<i>") || strings.Contains(got.raw, "\u202e") {
		t.Error("a name is not quoted:", got.raw)
	}
	got = b.post("/revoke", "grantId", "g1")
	got.expect(t, 200, "/revoke", "The access has ended", `value="g2"`)
	if strings.Contains(got.text, "Claude Code</bdi>") {
		t.Error("the program is shown still:", got.text)
	}
	b.post("/revoke", "grantId", "g1").expect(t, 404, "/revoke", "has no access any more", `value="g2"`)
	if got := b.calls(); got != "revoke g1; revoke g1" {
		t.Error(got)
	}
}

func TestStartPageIsShownWithoutTheListOfGrants(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, false)
	b.signIn("ann")
	b.grants = make([]loci.Grant, 101) // more than the service has
	b.post("/key", "name", "laptop").expect(t, 200, "/key", loci0+"0", "cannot be read now")
}
