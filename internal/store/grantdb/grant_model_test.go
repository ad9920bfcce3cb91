package grantdb_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/grantdb"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// A modelCode is an authorization code by the rules of the contract.
type modelCode struct {
	request grantdb.Redemption
	teams   []loci.ID
	expires time.Duration
	spent   bool
	grant   *modelGrant // that it became
}

// A modelGrant is a grant. Times are those of the model's clock.
type modelGrant struct {
	ended   bool
	reach   []loci.ID
	expires time.Duration
	pairs   []*modelPair
}

// A modelPair is the tokens of one answer.
type modelPair struct {
	grant    *modelGrant
	tokens   grantdb.Tokens
	issued   time.Duration
	replaced time.Duration
	next     *modelPair // nil: the refresh token was not used
}

// A grantModel compares two servers on one database with the rules.
type grantModel struct {
	t      *rapid.T
	stores []*store.Store
	clock  *atomic.Int64
	ann    *identity.Actor // owns the teams
	bob    *identity.Actor
	signIn loci.ID
	teams  []loci.ID
	joined []loci.ID
	codes  []*modelCode
	grants []*modelGrant
}

func (m *grantModel) now() time.Duration { return time.Duration(m.clock.Load()) }

func (m *grantModel) store() *store.Store { return rapid.SampledFrom(m.stores).Draw(m.t, "server") }

func (m *grantModel) live(g *modelGrant) bool {
	return !g.ended && m.now() < g.expires && len(g.reach) > 0
}

// system runs f in a transaction of one of the servers.
func (m *grantModel) system(f func(grantdb.Tx) error) { testenv.NoError(m.t, try(m.store(), f)) }

// authorize consents to one team or both, and returns the code, or nil where bob has left one.
func (m *grantModel) authorize() *modelCode {
	teams := rapid.SliceOfNDistinct(rapid.SampledFrom(m.teams), 1, 2, rapid.ID[loci.ID]).Draw(m.t, "teams")
	consent, request := storetest.Consent(m.bob.UserID, m.signIn, "editor", teams...)
	var err error
	request.Code, err = storetest.Authorize(m.store(), consent)
	isMember := !slices.ContainsFunc(teams, func(id loci.ID) bool { return !slices.Contains(m.joined, id) })
	if isMember && err != nil || !isMember && !loci.Is(err, loci.CodeNotFound) {
		m.t.Fatalf("a consent to %v by a member of %v: %v", teams, m.joined, err)
	}
	if !isMember {
		return nil
	}
	m.codes = append(m.codes, &modelCode{request: request, teams: teams, expires: m.now() + time.Minute})
	return m.codes[len(m.codes)-1]
}

// code returns one of the codes so far.
func (m *grantModel) code() *modelCode { return rapid.SampledFrom(m.codes).Draw(m.t, "code") }

// redeem sends a code several times at once. One call wins, and the others revoke its grant.
func (m *grantModel) redeem(c *modelCode) {
	if c == nil {
		return
	}
	r := c.request
	if rapid.IntRange(0, 9).Draw(m.t, "wrong") == 0 {
		r.Verifier = identity.NewSecret()
	}
	calls := rapid.SampledFrom([]int{1, 1, 1, 1, 1, 4}).Draw(m.t, "calls")
	reach := slices.DeleteFunc(slices.Clone(c.teams), func(id loci.ID) bool { return !slices.Contains(m.joined, id) })
	wins := !c.spent && m.now() < c.expires && r.Verifier == c.request.Verifier && len(reach) > 0
	won := m.exchange(calls, func(s *store.Store) (grantdb.Tokens, error) { return storetest.Redeem(s, r) })
	if len(won) > 1 || wins != (len(won) == 1) {
		m.t.Fatalf("%d of %d calls got tokens, want %t", len(won), calls, wins)
	}
	if c.grant != nil {
		c.grant.ended = true
	}
	if c.spent = true; wins {
		c.grant = &modelGrant{reach: reach, expires: m.now() + 60*24*time.Hour, ended: calls > 1}
		c.grant.pairs = []*modelPair{{grant: c.grant, tokens: won[0], issued: m.now()}}
		m.grants = append(m.grants, c.grant)
	}
}

// exchange runs calls at once on both servers, and returns the tokens that they got.
func (m *grantModel) exchange(calls int, f func(*store.Store) (grantdb.Tokens, error)) (got []grantdb.Tokens) {
	results := make([]grantdb.Tokens, calls)
	for i, err := range storetest.RunConcurrently(calls, func(i int) (err error) {
		results[i], err = f(m.stores[i%len(m.stores)])
		return err
	}) {
		if err == nil {
			got = append(got, results[i])
		} else if !errors.Is(err, storetest.ErrInvalidGrant) {
			m.t.Fatal(err)
		}
	}
	return got
}

// pair returns the tokens of one of the latest grants, which is live more often than another.
func (m *grantModel) pair() *modelPair {
	if len(m.grants) == 0 {
		return nil
	}
	g := rapid.SampledFrom(m.grants[max(0, len(m.grants)-2):]).Draw(m.t, "grant")
	return rapid.SampledFrom(g.pairs).Draw(m.t, "pair")
}

// refresh sends a refresh token several times at once: all calls get the same tokens.
func (m *grantModel) refresh() {
	p := m.pair()
	if p == nil {
		return
	}
	calls := rapid.SampledFrom([]int{1, 1, 1, 3}).Draw(m.t, "calls")
	got := m.exchange(calls, func(s *store.Store) (grantdb.Tokens, error) {
		return storetest.Refresh(s, p.tokens.Refresh, "editor")
	})
	known := m.live(p.grant) // an old token shows its grant, however old it is
	stolen := known && p.next != nil && m.now()-p.replaced >= 2*time.Minute
	if want := known && !stolen; want != (len(got) == calls) || !want && len(got) > 0 {
		m.t.Fatalf("%d of %d calls got tokens, want %t", len(got), calls, want)
	}
	if p.grant.ended = p.grant.ended || stolen; len(got) == 0 {
		return
	}
	if p.next == nil {
		p.next = &modelPair{grant: p.grant, tokens: got[0], issued: m.now()}
		p.replaced, p.grant.expires = m.now(), m.now()+60*24*time.Hour
		p.grant.pairs = append(p.grant.pairs, p.next)
	}
	for _, k := range got {
		testenv.RequireEqual(m.t, k, p.next.tokens, "a refresh returns")
	}
}

// revoke ends a grant by one of its tokens, while a client refreshes another one.
func (m *grantModel) revoke() {
	p, which := m.pair(), rapid.IntRange(0, 1).Draw(m.t, "token")
	if p == nil || which == 0 && m.now()-p.issued >= time.Hour { // a refresh deletes expired ones
		return
	}
	token := []string{p.tokens.Access, p.tokens.Refresh}[which]
	last := p.grant.pairs[len(p.grant.pairs)-1]
	got := m.exchange(2, func(s *store.Store) (grantdb.Tokens, error) {
		if s == m.stores[0] {
			err := try(s, func(x grantdb.Tx) error { _, err := x.RevokeToken(token, "editor"); return err })
			return grantdb.Tokens{}, errors.Join(err, storetest.ErrInvalidGrant)
		}
		return storetest.Refresh(s, last.tokens.Refresh, "editor")
	})
	p.grant.ended = true
	for _, k := range got {
		p.grant.pairs = append(p.grant.pairs, &modelPair{grant: p.grant, tokens: k, issued: m.now()})
	}
}

// leave ends a membership. A grant never reaches the team again.
func (m *grantModel) leave() {
	if len(m.joined) == 0 {
		return
	}
	team := rapid.SampledFrom(m.joined).Draw(m.t, "team")
	testenv.Must(store.Write(context.Background(), m.store(), m.bob, func(tx *store.Tx) (loci.Empty, error) {
		w, err := tx.Workspace(team, loci.RoleMember, store.InAnyState)
		if err != nil {
			return loci.Empty{}, err
		}
		return loci.Empty{}, w.Leave()
	}))(m.t)
	isTeam := func(id loci.ID) bool { return id == team }
	m.joined = slices.DeleteFunc(m.joined, isTeam)
	for _, g := range m.grants {
		g.reach = slices.DeleteFunc(g.reach, isTeam)
	}
}

func (m *grantModel) sweep() {
	m.system(grantdb.Tx.DeleteExpired)
	for _, g := range m.grants {
		g.ended = g.ended || !m.live(g)
	}
	for _, c := range m.codes {
		c.spent = c.spent || m.now() >= c.expires
	}
}

func (m *grantModel) wait() {
	m.clock.Add(int64(rapid.SampledFrom([]time.Duration{time.Second, 40 * time.Second, 119 * time.Second,
		2 * time.Minute}).Draw(m.t, "pause")))
}

func (m *grantModel) waitLong() {
	m.clock.Add(int64(rapid.SampledFrom([]time.Duration{30 * time.Minute, time.Hour, 24 * time.Hour,
		59 * 24 * time.Hour, 60 * 24 * time.Hour}).Draw(m.t, "pause")))
}

// check compares what each token opens.
func (m *grantModel) check() {
	s := m.store()
	for i, g := range m.grants {
		for n, p := range g.pairs {
			want := m.live(g) && m.now()-p.issued < time.Hour
			c, err := credential(s, p.tokens.Access)
			if err != nil && !loci.Is(err, loci.CodeNotFound) {
				m.t.Fatal(err)
			}
			slices.Sort(c.Workspaces)
			if slices.Sort(g.reach); want != (err == nil) || want && !slices.Equal(c.Workspaces, g.reach) {
				m.t.Fatalf("token %d of grant %d opens %v, %v, want %t for %v", n, i, c.Workspaces, err, want, g.reach)
			}
		}
	}
}

func TestGrantsFollowTheModel(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		clock := &atomic.Int64{}
		o := store.Options{Clock: func() time.Time { return time.Unix(1_800_000_000, clock.Load()) }}
		stores := []*store.Store{d.Open(t, o), d.Open(t, o)}
		ann := storetest.User(t, stores[0], "ann")
		teams := []loci.ID{storetest.Team(t, stores[0], ann, nil), storetest.Team(t, stores[0], ann, nil)}
		people := 0
		d.Check(t, func(r *rapid.T) {
			people++
			m := &grantModel{t: r, stores: stores, clock: clock, ann: ann, teams: teams, joined: slices.Clone(teams),
				bob: storetest.User(t, stores[0], fmt.Sprint("bob", people))}
			m.signIn = storetest.SignIn(t, stores[0], m.bob.UserID)
			for _, id := range teams {
				storetest.Join(t, stores[0], ann, id, m.bob, loci.RoleMember)
			}
			m.redeem(m.authorize())
			actions := []func(){func() { m.authorize() }, func() { m.redeem(m.code()) },
				func() { m.redeem(m.authorize()) }, m.refresh, m.refresh, m.refresh, m.refresh, m.revoke,
				m.leave, m.sweep, m.wait, m.wait, m.waitLong}
			for range rapid.IntRange(10, 40).Draw(r, "calls") {
				actions[rapid.IntRange(0, len(actions)-1).Draw(r, "call")]()
				m.check()
			}
		})
	})
}
