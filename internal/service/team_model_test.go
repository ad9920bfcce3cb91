package service_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// A teamState is a team by the rules of the contract.
type teamState struct {
	archived    bool
	emptied     bool         // its atlas is deleted
	roles       [4]loci.Role // by person; "" is no member; a deleted team has none
	invitations map[int]teamInvitation
}

// A teamInvitation has the number of the call that made it as its key.
type teamInvitation struct {
	to      int
	role    loci.Role
	status  loci.InvitationStatus
	expires time.Time
}

func (i teamInvitation) at(now time.Time) loci.InvitationStatus {
	if i.status == loci.InvitationPending && !now.Before(i.expires) {
		return loci.InvitationExpired
	}
	return i.status
}

// A teamCall is a call by a person, on one of two servers.
type teamCall struct {
	number, actor, target, invitation, server int

	name   string
	role   loci.Role // of invite and role
	answer string    // a code, the reason of a skipped invitation, or ""
}

func (c teamCall) String() string {
	return fmt.Sprintf("#%d: person %d: %s target=%d role=%s invitation=#%d: %q", c.number, c.actor, c.name, c.target,
		c.role, c.invitation, c.answer)
}

// apply returns the state after a call, and its answer.
func (s teamState) apply(c teamCall, now time.Time) (teamState, string) {
	s.invitations = maps.Clone(s.invitations)
	role := s.roles[c.actor]
	minimum := map[string]loci.Role{"invite": loci.RoleAdmin, "revoke": loci.RoleAdmin, "role": loci.RoleOwner,
		"remove": loci.RoleAdmin, "leave": loci.RoleMember, "transfer": loci.RoleOwner, "archive": loci.RoleOwner,
		"restore": loci.RoleOwner, "delete atlas": loci.RoleAdmin, "delete": loci.RoleOwner}[c.name]
	code := ""
	switch {
	case minimum == "": // accept and decline
	case role == "", c.name == "delete atlas" && s.emptied:
		return s, string(loci.CodeNotFound)
	case !role.AtLeast(minimum):
		return s, string(loci.CodeForbidden)
	}
	switch c.name {
	case "invite":
		code = s.invite(c, now)
	case "accept", "decline", "revoke":
		code = s.answer(c, now)
	case "role":
		if code = s.requireActive(); code == "" {
			code = s.requireMember(c.target)
		}
		if code == "" {
			s.roles[c.target] = c.role
		}
	case "remove":
		switch {
		case s.roles[c.target] == "":
			code = string(loci.CodeNotFound)
		case s.roles[c.target] != loci.RoleMember && role != loci.RoleOwner:
			code = string(loci.CodeForbidden)
		default:
			code = s.requireMember(c.target)
		}
		if code == "" {
			s.roles[c.target] = ""
		}
	case "leave":
		if code = s.requireMember(c.actor); code == "" {
			s.roles[c.actor] = ""
		}
	case "transfer":
		if code = s.requireActive(); code == "" {
			code = s.requireMember(c.target)
		}
		if code == "" {
			s.roles[c.actor], s.roles[c.target] = loci.RoleAdmin, loci.RoleOwner
		}
	case "delete atlas":
		s.emptied = true
	case "delete":
		if !s.emptied {
			return s, string(loci.CodeWorkspaceNotEmpty)
		}
		s = teamState{invitations: map[int]teamInvitation{}}
	default:
		archive := c.name == "archive"
		if s.archived == archive {
			code = string(loci.CodeStateConflict)
		}
		s.archived = archive
	}
	return s, code
}

func (s *teamState) requireActive() string {
	if s.archived {
		return string(loci.CodeStateConflict)
	}
	return ""
}

// requireMember returns the error for a person who is no member, or the owner.
func (s *teamState) requireMember(person int) string {
	switch s.roles[person] {
	case "":
		return string(loci.CodeNotFound)
	case loci.RoleOwner:
		return string(loci.CodeStateConflict)
	}
	return ""
}

func (s *teamState) invite(c teamCall, now time.Time) string {
	if code := s.requireActive(); code != "" {
		return code
	}
	if c.role == loci.RoleAdmin && s.roles[c.actor] != loci.RoleOwner {
		return string(loci.CodeForbidden)
	}
	if s.roles[c.target] != "" {
		return string(loci.SkipAlreadyMember)
	}
	for _, i := range s.invitations {
		if i.to == c.target && i.at(now) == loci.InvitationPending {
			return string(loci.SkipAlreadyInvited)
		}
	}
	s.invitations[c.number] = teamInvitation{c.target, c.role, loci.InvitationPending, now.Add(7 * 24 * time.Hour)}
	return ""
}

// answer accepts, declines or revokes an invitation.
func (s *teamState) answer(c teamCall, now time.Time) string {
	i, ok := s.invitations[c.invitation]
	if !ok {
		return string(loci.CodeNotFound)
	}
	if i.at(now) != loci.InvitationPending || c.name == "accept" && s.archived {
		return string(loci.CodeStateConflict)
	}
	switch c.name {
	case "accept":
		i.status = loci.InvitationAccepted
		if s.roles[i.to] == "" {
			s.roles[i.to] = i.role
		}
	case "decline":
		i.status = loci.InvitationDeclined
	default:
		i.status = loci.InvitationRevoked
	}
	s.invitations[c.invitation] = i
	return ""
}

// describe returns the state as people see it.
func (s *teamState) describe(now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "archived=%v emptied=%v roles=%q", s.archived, s.emptied, s.roles)
	for _, n := range slices.Sorted(maps.Keys(s.invitations)) {
		i := s.invitations[n]
		fmt.Fprintf(&b, " #%d=%d:%s:%s", n, i.to, i.role, i.at(now))
	}
	return b.String()
}

// explain searches a serial order of concurrent calls that gives their answers, and then the observed state. The calls
// of one person are in order. Each has taken its time from one of times.
func explain(s teamState, calls [][]teamCall, times [2]time.Time, observed string) (after teamState, ok bool) {
	done := true
	for n, list := range calls {
		if len(list) == 0 {
			continue
		}
		done = false
		rest := slices.Clone(calls)
		rest[n] = list[1:]
		for i, now := range times {
			if i > 0 && now.Equal(times[0]) {
				continue
			}
			next, answer := s.apply(list[0], now)
			if answer != list[0].answer {
				continue
			}
			if after, ok = explain(next, rest, times, observed); ok {
				return after, true
			}
		}
	}
	return s, done && s.describe(times[1]) == observed
}

// A teamModel runs calls on two servers with one database.
type teamModel struct {
	t       *rapid.T
	servers [2]*service.Service
	now     *atomic.Int64
	people  []*identity.Actor
	team    loci.ID
	memory  loci.Memory
	ids     map[int]loci.ID // of invitations
	mu      sync.Mutex
	state   teamState
	calls   int
}

func (m *teamModel) time() time.Time { return time.UnixMicro(m.now.Load()) }

// draw returns a call that may be refused. Most calls of a round are about the same person.
func (m *teamModel) draw(actor, target int) teamCall {
	names := []string{"invite", "invite", "role", "remove", "leave", "transfer", "archive", "restore", "restore",
		"delete"}
	if rapid.IntRange(0, 9).Draw(m.t, "delete") == 0 {
		names = []string{"delete atlas"}
	}
	var received, sent []int // the newest invitations
	for n, i := range m.state.invitations {
		if sent = append(sent, n); i.to == actor {
			received = append(received, n)
		}
	}
	c := teamCall{number: m.calls, actor: actor, server: rapid.IntRange(0, 1).Draw(m.t, "server"),
		target: rapid.SampledFrom([]int{target, target, target, 0, 1, 2, 3}).Draw(m.t, "target"),
		role:   rapid.SampledFrom([]loci.Role{loci.RoleMember, loci.RoleAdmin}).Draw(m.t, "role")}
	if len(received) > 0 {
		names = append(names, "accept", "accept", "accept", "decline")
	}
	if len(sent) > 0 {
		names = append(names, "revoke")
	}
	c.name = rapid.SampledFrom(names).Draw(m.t, "call")
	switch c.name {
	case "accept", "decline":
		c.invitation = slices.Max(received)
	case "revoke":
		slices.Sort(sent)
		c.invitation = rapid.SampledFrom(sent[max(0, len(sent)-3):]).Draw(m.t, "invitation")
	}
	m.calls++
	return c
}

// send runs a call and sets its answer.
func (m *teamModel) send(t *testing.T, c *teamCall) {
	s, who, ctx := m.servers[c.server], m.people[c.actor], t.Context()
	m.mu.Lock()
	target, invitation, err := m.people[c.target], m.ids[c.invitation], error(nil)
	m.mu.Unlock()
	switch c.name {
	case "invite":
		var out loci.CreatedInvitations
		out, err = s.CreateInvitations(ctx, who, loci.CreateInvitations{WorkspaceID: m.team,
			Emails: loci.Emails{loci.Email(target.Email)}, Role: loci.InvitedRole(c.role)})
		for _, i := range out.Invitations {
			m.mu.Lock()
			m.ids[c.number] = i.ID
			m.mu.Unlock()
		}
		for _, skipped := range out.Skipped {
			c.answer = string(skipped.Reason)
		}
	case "accept", "decline":
		_, err = s.RespondInvitation(ctx, who, loci.RespondInvitation{InvitationID: invitation,
			Accept: c.name == "accept", Confirm: true})
	case "revoke":
		_, err = s.RevokeInvitation(ctx, who, loci.RevokeInvitation{InvitationID: invitation, Confirm: true})
	case "role":
		_, err = s.UpdateMember(ctx, who, loci.UpdateMember{WorkspaceID: m.team, UserID: target.UserID,
			Role: loci.MemberRole(c.role), Confirm: true})
	case "remove":
		_, err = s.RemoveMember(ctx, who, loci.RemoveMember{WorkspaceID: m.team, UserID: target.UserID, Confirm: true})
	case "leave":
		_, err = s.LeaveWorkspace(ctx, who, loci.LeaveWorkspace{WorkspaceID: m.team, Confirm: true})
	case "transfer":
		_, err = s.TransferWorkspace(ctx, who, loci.TransferWorkspace{WorkspaceID: m.team, UserID: target.UserID,
			Confirm: true})
	case "delete atlas":
		_, err = s.DeleteAtlas(ctx, who, loci.DeleteAtlas{AtlasID: m.memory.AtlasID})
	case "delete":
		_, err = s.DeleteWorkspace(ctx, who, loci.DeleteWorkspace{WorkspaceID: m.team})
	default:
		archived := c.name == "archive"
		_, err = s.ArchiveWorkspace(ctx, who, loci.ArchiveWorkspace{WorkspaceID: m.team, Archived: &archived})
	}
	if err != nil {
		c.answer = string(loci.AsError(err).Code)
	}
}

// setUp makes a team of the owner, an admin and a member, and invites the last person.
func (m *teamModel) setUp(t *testing.T) {
	m.state = teamState{roles: [4]loci.Role{loci.RoleOwner}, invitations: map[int]teamInvitation{}}
	for _, c := range []teamCall{{target: 1, name: "invite", role: loci.RoleAdmin}, {actor: 1, name: "accept"},
		{target: 2, name: "invite", role: loci.RoleMember}, {actor: 2, name: "accept", invitation: 2},
		{target: 3, name: "invite", role: loci.RoleMember}} {
		c.number = m.calls
		m.calls++
		m.send(t, &c)
		next, answer := m.state.apply(c, m.time())
		if m.state = next; answer != c.answer {
			m.t.Fatalf("%s, want %q", c, answer)
		}
	}
}

// round runs calls of several people at once, and fails if no serial order explains their answers.
func (m *teamModel) round(t *testing.T) {
	times := [2]time.Time{m.time(), m.time()}
	calls, target := make([][]teamCall, len(m.people)), rapid.IntRange(0, 3).Draw(m.t, "target of most")
	for actor := range calls {
		for range rapid.IntRange(0, 2).Draw(m.t, "calls") {
			calls[actor] = append(calls[actor], m.draw(actor, target))
		}
	}
	pause := rapid.SampledFrom([]time.Duration{0, 0, 0, 8 * 24 * time.Hour}).Draw(m.t, "pause")
	times[1] = times[0].Add(pause)
	storetest.RunConcurrently(len(calls)+1, func(n int) error {
		if n == len(calls) {
			m.now.Store(times[1].UnixMicro())
			return nil
		}
		for i := range calls[n] {
			m.send(t, &calls[n][i])
		}
		return nil
	})
	before, observed := m.state.describe(times[0]), ""
	for server := range m.servers {
		seen := m.observe(t, server)
		if observed = seen; server == 1 && seen != m.observe(t, 0) {
			m.t.Fatalf("the servers show\n%s\n%s", seen, m.observe(t, 0))
		}
	}
	after, ok := explain(m.state, calls, times, observed)
	if !ok {
		m.t.Fatalf("no serial order explains these calls\nbefore: %s\nafter:  %s\n%v", before, observed, calls)
	}
	m.state = after
}

// observe reads the team on a server as each person. A person who is no member must not find the memory of the team.
func (m *teamModel) observe(t *testing.T, server int) string {
	seen, s := teamState{invitations: map[int]teamInvitation{}}, m.servers[server]
	var owner *identity.Actor
	for n, who := range m.people {
		w, err := s.GetWorkspace(t.Context(), who, loci.GetWorkspace{WorkspaceID: m.team})
		if err != nil && !loci.Is(err, loci.CodeNotFound) {
			m.t.Fatal(err)
		}
		seen.roles[n] = w.Workspace.Role
		if w.Workspace.Role == loci.RoleOwner {
			owner, seen.archived = who, w.Workspace.Status == loci.ContainerArchived
		}
		_, err = s.GetMemory(t.Context(), who, loci.GetMemory{MemoryID: m.memory.ID})
		found, searched := s.SearchMemories(t.Context(), who, loci.SearchMemories{Query: "basalt",
			MemoryFilter: loci.MemoryFilter{WorkspaceID: m.team}})
		outside := w.Workspace.Role == ""
		if seen.emptied = seen.emptied || !outside && len(found.Memories) == 0; outside != (searched != nil) ||
			loci.Is(err, loci.CodeNotFound) != (outside || seen.emptied) {
			m.t.Fatalf("person %d with role %q: %v, %v, %v", n, w.Workspace.Role, err, found.Memories, searched)
		}
	}
	if seen.roles == [4]loci.Role{} {
		return seen.describe(m.time())
	}
	if owner == nil {
		m.t.Fatalf("no owner: %q", seen.roles)
	}
	list := testenv.Must(s.ListInvitations(t.Context(), owner,
		loci.ListInvitations{WorkspaceID: m.team, Paging: loci.Paging{Limit: 100}}))(m.t)
	for _, i := range list.Invitations {
		to := slices.IndexFunc(m.people, func(p *identity.Actor) bool { return p.Email == i.Email })
		for number, id := range m.ids {
			if id == i.ID {
				seen.invitations[number] = teamInvitation{to, i.Role, i.Status, m.time().Add(time.Hour)}
			}
		}
	}
	testenv.RequireEqual(m.t, len(seen.invitations), len(list.Invitations), "an invitation of no call")
	return seen.describe(m.time()) // the status shows whether an invitation has expired
}

// TestTeamCallsAtOnceHaveSerialOrder runs calls of several people at once on two servers. Some serial order explains
// all answers, and the team has one owner at every moment.
func TestTeamCallsAtOnceHaveSerialOrder(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		now := &atomic.Int64{}
		now.Store(1_800_000_000_000_000)
		m := &teamModel{now: now}
		for n := range m.servers {
			s := d.Open(t, store.Options{Clock: m.time})
			m.servers[n] = service.New(service.Options{Store: s, Clock: m.time})
			for len(m.people) < 4 {
				m.people = append(m.people, storetest.User(t, s, fmt.Sprint("person", len(m.people))))
			}
		}
		stop := make(chan struct{})
		var watch sync.WaitGroup
		watch.Go(func() {
			for {
				if list := d.Query(t, `SELECT w.id FROM workspaces w JOIN members m ON m.workspace = w.row_id
					GROUP BY w.id HAVING count(CASE WHEN m.role = 'owner' THEN 1 END) <> 1`); len(list) > 0 {
					t.Errorf("%s has not one owner", list)
					return
				}
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Millisecond):
				}
			}
		})
		defer watch.Wait()
		defer close(stop)
		d.Check(t, func(rt *rapid.T) {
			m.t, m.ids, m.calls = rt, map[int]loci.ID{}, 0
			m.now.Add(time.Hour.Microseconds())
			w := testenv.Must(m.servers[0].CreateWorkspace(t.Context(), m.people[0],
				loci.CreateWorkspace{Name: "Crew"}))(rt)
			m.team = w.Workspace.ID
			made := testenv.Must(m.servers[0].CreateMemory(t.Context(), m.people[0],
				loci.CreateMemory{Content: "The staging host is called basalt.", WorkspaceID: m.team}))(rt)
			m.memory = made.Memory.Memory
			m.setUp(t)
			for range rapid.IntRange(1, 8).Draw(rt, "rounds") {
				m.round(t)
			}
		})
	})
}
