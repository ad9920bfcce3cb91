package session_test

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// A workModel runs calls of sessions on two servers with one database.
type workModel struct {
	t       *rapid.T
	random  *rand.Rand
	d       storetest.Database
	db      *sql.DB
	stores  [2]*store.Store
	servers [2]*service.Service
	people  []*identity.Actor
	team    loci.ID

	atlases  [2]loci.ID
	sessions map[int]loci.ID
	parts    map[string]loci.ID // candidates and units, by session and name
	memories map[int]loci.ID
	state    workState
	calls    int
}

// below and pick choose evenly. The choices of rapid prefer the first values, which would repeat a few calls.
func (m *workModel) open(n int) error {
	s, err := m.d.TryOpen(store.Options{})
	if err == nil {
		m.stores[n], m.servers[n] = s, service.New(service.Options{Store: s, Clock: (&Clock{}).Now})
	}
	return err
}

// reopen closes a server and starts it again.
func (m *workModel) reopen(n int) {
	testenv.NoError(m.t, errors.Join(m.stores[n].Close(), m.open(n)))
}

// begin makes two new atlases and resets the policies.
func (m *workModel) begin(t *testing.T) {
	m.sessions, m.parts, m.memories = map[int]loci.ID{}, map[string]loci.ID{}, map[int]loci.ID{}
	m.state = workState{atlases: [2]loci.ContainerStatus{loci.ContainerActive, loci.ContainerActive},
		sessions: map[int]sessionState{}, memories: map[int]sessionMemory{}}
	for n := range m.atlases {
		m.atlases[n] = testenv.Must(m.servers[0].CreateAtlas(t.Context(), m.people[0],
			loci.CreateAtlas{Name: "Shelf", WorkspaceID: m.team}))(t).Atlas.ID
	}
	for person := range m.state.policies { // each has a session too
		c := m.call(person, "start")
		c.atlas, c.automatic = 1, true
		m.round(t, [][]workCall{{c}})
		m.policy(t, person,
			loci.Policy{Enabled: true, Mode: Pick(m.random, []loci.PolicyMode{loci.ModeCandidates, loci.ModeUnits})})
	}
}

// policy sets a policy alone: events read it before their transactions.
func (m *workModel) policy(t *testing.T, person int, p loci.Policy) {
	c := m.call(person, "policy")
	c.policy = p
	m.round(t, [][]workCall{{c}})
}

func (m *workModel) call(actor int, name string) workCall {
	m.calls++
	return workCall{number: m.calls, actor: actor, server: m.random.IntN(2), name: name}
}

// word returns a word of letters for a number.
func word(n int) string {
	var b strings.Builder
	for ; n > 0; n /= 20 {
		b.WriteByte("bcdfghjkmnpqrstvwxyz"[n%20])
		b.WriteByte('a')
	}
	return b.String()
}

// names returns the calls from which one of a person in a session is drawn: mostly such as are not refused by the role.
func (m *workModel) names(actor, session int) []string {
	switch m.random.IntN(40) {
	case 0:
		return []string{"delete atlas"}
	case 1, 2:
		return []string{"archive atlas", "restore atlas", "restore atlas", "restore atlas"}
	case 3:
		return []string{"start", "archive", "bulk"}
	case 4, 5, 6, 7:
		return []string{"archive memory", "restore memory", "delete memory"}
	case 8:
		return []string{"capture", "checkpoint", "open unit", "finalize unit", "event", "finalize", "complete",
			"reopen"}
	}
	x, ok := m.state.sessions[session]
	switch {
	case ok && len(x.candidates) == 0 && x.owner == actor && x.status == loci.SessionActive && !x.archived:
		return []string{"capture", "event", "open unit", "finalize unit", "checkpoint", "complete"}
	case !ok:
		return []string{"start"}
	case x.owner != actor:
		return []string{"moderate", "moderate", "moderate", "revert", "get", "archive"}
	case x.archived:
		return []string{"archive", "bulk", "start", "get", "moderate", "event"}
	case x.status != loci.SessionActive:
		return []string{"reopen", "reopen", "start", "capture", "revert", "moderate", "finalize unit", "event"}
	}
	return []string{"capture", "capture", "capture", "checkpoint", "open unit", "open unit", "finalize unit",
		"finalize unit", "finalize unit", "event", "event", "event", "moderate", "moderate", "moderate", "finalize",
		"complete", "revert", "start"}
}

// draw returns a call that may be refused. Most calls of a round are about the same session.
func (m *workModel) draw(actor, session int) workCall {
	all := slices.Sorted(maps.Keys(m.state.sessions))
	if m.random.IntN(3) == 0 {
		session = Pick(m.random, all)
	}
	c := m.call(actor, Pick(m.random, m.names(actor, session)))
	c.session = session
	x := m.state.sessions[c.session]
	unit := Pick(m.random, []string{"hull", "mast"})
	switch c.name {
	case "start":
		c.atlas, c.automatic = m.random.IntN(2), m.random.IntN(4) > 0
		if c.key = Pick(m.random, []string{"", "run a", "run b"}); c.key != "" {
			c.key += string(m.atlases[0]) // the sessions of other checks keep theirs
		}
	case "capture":
		if c.key = fmt.Sprintf("c%d", c.number); len(x.candidates) > 0 && m.random.IntN(4) == 0 {
			c.key = Pick(m.random, x.candidates).source
		}
		c.text = Pick(m.random, []string{"rope " + word(c.number), "rope", "knot"})
	case "open unit":
		c.key, c.action = unit, Pick(m.random, []string{"", "follow up"})
	case "finalize unit":
		if c.key, c.text = unit, "result "+word(c.number); x.unit(unit) < 0 {
			c.key = "none" // one that is opened in this round has no known id
		}
	case "event":
		if c.key = fmt.Sprintf("e%d", c.number); m.random.IntN(4) == 0 {
			c.key = cmp.Or(Pick(m.random, x.events), c.key)
		}
		c.text = fmt.Sprintf("We decided: the %s gate is painted %sx from now on.", word(c.number), word(c.number*7))
		c.action = unit
	case "moderate":
		c.action = Pick(m.random, []string{"compile", "compile", "dismiss", "revert", "revert"})
		c.key = Pick(m.random, x.candidates).source
	case "archive":
		c.action = Pick(m.random, []string{"archive", "restore", "restore"})
	case "bulk":
		c.action, c.list = Pick(m.random, []string{"archive", "restore", "delete"}), []int{c.session}
		for range m.random.IntN(3) {
			c.list = append(c.list, Pick(m.random, all))
		}
		slices.Sort(c.list) // as their ids: the order in which they are changed
	case "archive memory", "restore memory", "delete memory":
		c.memory = Pick(m.random, slices.Sorted(maps.Keys(m.memories)))
	default:
		c.atlas = Pick(m.random, []int{0, 1, 1, 1})
	}
	return c
}

func (m *workModel) session(n int) loci.ID {
	return cmp.Or(m.sessions[n], "018f0000-0000-7000-8000-000000000000")
}

func (m *workModel) part(session int, name string) loci.ID {
	return cmp.Or(m.parts[fmt.Sprint(session, " ", name)], "018f0000-0000-7000-8000-000000000000")
}

// send runs a call and sets its answer.
func (m *workModel) send(t *testing.T, c *workCall) {
	s, who, ctx, id, err := m.servers[c.server], m.people[c.actor], t.Context(), m.session(c.session), error(nil)
	archived := c.action == "archive" || c.name == "archive atlas"
	known := map[bool]string{true: "created", false: "existing"}
	switch c.name {
	case "start":
		in := loci.StartSession{Task: "Mend", AtlasID: m.atlases[c.atlas], ExternalID: loci.ExternalID(c.key)}
		if c.automatic {
			in.Kind, in.Adapter = loci.SessionAutomatic, "claude"
		}
		var out loci.StartedSession
		out, err = s.StartSession(ctx, who, in)
		c.id = out.Session.ID
		if err == nil && out.Created() {
			c.answer = fmt.Sprint("session ", c.number)
		}
	case "policy":
		_, err = s.SetPolicy(ctx, who, loci.SetPolicy{WorkspaceID: m.team, Enabled: c.policy.Enabled,
			Paused: c.policy.Paused, Mode: c.policy.Mode})
	case "archive memory":
		_, err = s.ArchiveMemory(ctx, who, loci.ArchiveMemory{MemoryID: m.memories[c.memory]})
	case "restore memory":
		_, err = s.RestoreMemory(ctx, who, loci.RestoreMemory{MemoryID: m.memories[c.memory]})
	case "delete memory":
		_, err = s.DeleteMemory(ctx, who, loci.DeleteMemory{MemoryID: m.memories[c.memory]})
	case "archive atlas", "restore atlas":
		_, err = s.ArchiveAtlas(ctx, who, loci.ArchiveAtlas{AtlasID: m.atlases[c.atlas], Archived: &archived})
	case "delete atlas":
		_, err = s.DeleteAtlas(ctx, who, loci.DeleteAtlas{AtlasID: m.atlases[c.atlas]})
	case "bulk":
		in := loci.BulkSessions{Action: loci.BulkAction(c.action)}
		for _, n := range c.list {
			in.SessionIDs = append(in.SessionIDs, m.session(n))
		}
		var out loci.BulkResults
		out, err = s.BulkSessions(ctx, who, in)
		for _, r := range out.Results {
			c.answer += string(r.Code) + ","
		}
	case "get":
		_, err = s.GetSession(ctx, who, loci.GetSession{SessionID: id})
	case "archive":
		_, err = s.ArchiveSession(ctx, who, loci.ArchiveSession{SessionID: id, Archived: &archived})
	case "capture":
		var out loci.CapturedCandidate
		out, err = s.CaptureCandidate(ctx, who, loci.CaptureCandidate{SessionID: id,
			Content: loci.CandidateContent(c.text), SourceEventID: loci.ExternalID(c.key)})
		c.answer = known[out.Created()]
	case "checkpoint":
		_, err = s.AddCheckpoint(ctx, who, loci.AddCheckpoint{SessionID: id, Summary: "half"})
	case "open unit":
		var out loci.OpenedUnit
		out, err = s.OpenUnit(ctx, who, loci.OpenUnit{SessionID: id, Key: loci.ExternalID(c.key),
			FollowUp: c.action != ""})
		if c.answer = "resumed"; out.Created() {
			c.answer = "created"
		}
	case "finalize unit":
		_, err = s.FinalizeUnit(ctx, who, loci.FinalizeUnit{SessionID: id, UnitID: m.part(c.session, c.key),
			Content: loci.Content(c.text)})
	case "event":
		var out loci.ReceivedEvent
		out, err = s.SendEvent(ctx, who, loci.SendEvent{SessionID: id, Adapter: "claude", Type: loci.EventPrompt,
			EventID: loci.ExternalID(c.key), UnitKey: loci.ExternalID(c.action), Content: loci.EventContent(c.text)})
		switch {
		case out.Duplicate:
			c.answer = "duplicate"
		case out.Ignored:
			c.answer = "ignored"
		case len(out.Candidates) == 1 && out.Candidates[0].Content == c.text:
			c.answer = "drawn"
		}
	case "moderate":
		_, err = s.ModerateCandidate(ctx, who, loci.ModerateCandidate{SessionID: id,
			CandidateID: m.part(c.session, c.key), Action: loci.ModerationAction(c.action)})
	case "finalize":
		var out loci.FinalizedSession
		out, err = s.FinalizeSession(ctx, who, loci.FinalizeSession{SessionID: id, Summary: "done"})
		c.answer = fmt.Sprintf("%d compiled, %d skipped", len(out.Compiled), len(out.Skipped))
	case "complete":
		_, err = s.CompleteSession(ctx, who, loci.CompleteSession{SessionID: id})
	case "reopen":
		_, err = s.ReopenSession(ctx, who, loci.ReopenSession{SessionID: id})
	case "revert":
		_, err = s.RevertSession(ctx, who, loci.RevertSession{SessionID: id})
	}
	if err != nil {
		c.answer = string(loci.AsError(err).Code)
	}
}

// round runs calls of several people at once, and fails if no serial order explains their answers.
func (m *workModel) round(t *testing.T, calls [][]workCall) {
	storetest.RunConcurrently(len(calls), func(n int) error {
		for i := range calls[n] {
			m.send(t, &calls[n][i])
		}
		return nil
	})
	m.nameSessions(calls)
	seen := m.observe(t, m.random.IntN(2))
	observed := seen.describe()
	after, ok := explainWork(m.state, calls, observed)
	if !ok {
		m.t.Fatalf("no serial order explains these calls\nbefore: %s\nafter:  %s\n%v", m.state.describe(), observed,
			calls)
	}
	m.state = after
	m.link(&seen)
}

// nameSessions sets the answers of starts: which session was made or resumed.
func (m *workModel) nameSessions(calls [][]workCall) {
	for _, c := range slices.Concat(calls...) {
		if c.answer == fmt.Sprint("session ", c.number) {
			m.sessions[c.number] = c.id
		}
	}
	for _, list := range calls {
		for i := range list {
			for n, id := range m.sessions {
				if list[i].id != "" && list[i].id == id {
					list[i].answer = fmt.Sprint("session ", n)
				}
			}
		}
	}
}

// observe reads the state on a server, as the owner.
func (m *workModel) observe(t *testing.T, server int) workState {
	seen := workState{sessions: map[int]sessionState{}, memories: map[int]sessionMemory{}}
	numbers := map[loci.ID]int{"": 0}
	s := m.servers[server]
	for n, id := range m.atlases {
		a, err := s.GetAtlas(t.Context(), m.people[0], loci.GetAtlas{AtlasID: id})
		if m.must(err, loci.CodeNotFound); err != nil {
			continue
		}
		seen.atlases[n] = a.Atlas.Status
		m.observeMemories(t, n, &seen, numbers)
	}
	for n, id := range m.sessions {
		d, err := s.GetSession(t.Context(), m.people[0], loci.GetSession{SessionID: id})
		if m.must(err, loci.CodeNotFound); err == nil {
			seen.sessions[n] = m.observed(n, d, numbers)
		}
	}
	return seen
}

// observeMemories reads the memories of an atlas, and gives them numbers.
func (m *workModel) observeMemories(t *testing.T, atlas int, seen *workState, numbers map[loci.ID]int) {
	rows := testenv.Must(m.db.QueryContext(t.Context(), `SELECT e.id, e.status, e.version, e.created_by, e.content
		FROM memories e JOIN atlases a ON a.row_id = e.atlas WHERE a.id = $1`, m.atlases[atlas]))(m.t)
	defer rows.Close()
	for rows.Next() {
		x, status := sessionMemory{atlas: atlas}, 0
		var id, creator loci.ID
		testenv.NoError(m.t, rows.Scan(&id, &status, &x.version, &creator, &x.content))
		x.archived = status != 0
		x.owner = slices.IndexFunc(m.people, func(p *identity.Actor) bool { return p.UserID == creator })
		n := len(numbers)
		numbers[id], seen.memories[n], m.parts["memory "+fmt.Sprint(n)] = n, x, id
	}
}

func (m *workModel) must(err error, allowed loci.Code) {
	if err != nil && !loci.Is(err, allowed) {
		m.t.Fatal(err)
	}
}

// observed returns the state of a session that was read, and compares its counts with its parts.
func (m *workModel) observed(n int, d loci.SessionDetail, numbers map[loci.ID]int) sessionState {
	r := d.Session
	number := func(id loci.ID) int {
		k, ok := numbers[id]
		if !ok {
			m.t.Fatalf("session %d links to the memory %s, which there is not", n, id)
		}
		return k
	}
	x := sessionState{status: r.Status, archived: r.Archived, memory: number(r.MemoryID),
		automatic: r.Kind == loci.SessionAutomatic, checkpoints: r.Counts.Checkpoints,
		events: make([]string, r.Counts.Events)}
	x.owner = slices.IndexFunc(m.people, func(p *identity.Actor) bool { return p.UserID == r.UserID })
	x.atlas = slices.Index(m.atlases[:], r.AtlasID)
	pending := 0
	for _, c := range d.Candidates {
		x.candidates = append(x.candidates, candidateState{c.SourceEventID, c.Content, c.Status, number(c.MemoryID)})
		if m.parts[fmt.Sprint(n, " ", c.SourceEventID)] = c.ID; c.Status == loci.CandidatePending {
			pending++
		}
	}
	for _, u := range d.Units {
		x.units = append(x.units, unitState{u.Key, u.Status, number(u.MemoryID)})
		m.parts[fmt.Sprint(n, " ", u.Key)] = u.ID
	}
	if got := (loci.SessionCounts{Candidates: len(d.Candidates), Pending: pending, Checkpoints: len(d.Checkpoints),
		Units: len(d.Units), Events: r.Counts.Events}); got != r.Counts ||
		(r.EndedAt == 0) != (r.Status == loci.SessionActive) {
		m.t.Fatalf("session %d counts %+v, has %+v, ended %v", n, r.Counts, got, r.EndedAt)
	}
	return x
}

// link learns the ids of memories from what was observed. The memory of a candidate or a unit remains the same.
func (m *workModel) link(seen *workState) {
	learn := func(n, observed int) {
		id := m.parts["memory "+fmt.Sprint(observed)]
		if was, ok := m.memories[n]; ok && was != id {
			m.t.Fatalf("memory %d was %s and is %s", n, was, id)
		}
		m.memories[n] = id
	}
	for n, x := range m.state.sessions {
		y := seen.sessions[n]
		for _, k := range x.candidates {
			if k.memory != 0 && k.status != loci.CandidateDismissed {
				learn(k.memory, y.candidates[slices.IndexFunc(y.candidates, func(o candidateState) bool {
					return o.source == k.source
				})].memory)
			}
		}
		for _, u := range x.units {
			if u.memory != 0 {
				learn(u.memory, y.units[y.unit(u.key)].memory)
			}
		}
	}
}

// TestSessionCallsAtOnceHaveSerialOrder runs calls of several people at once on two servers, one of which is sometimes
// started again. Some serial order explains all answers and the state.
func TestSessionCallsAtOnceHaveSerialOrder(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		m := &workModel{d: d, db: d.DB(t)}
		for n := range m.servers {
			testenv.NoError(t, m.open(n))
			t.Cleanup(func() { m.stores[n].Close() })
		}
		for n := range 4 {
			m.people = append(m.people, storetest.User(t, m.stores[0], fmt.Sprint("person", n)))
		}
		m.team = storetest.Team(t, m.stores[0], m.people[0], map[*identity.Actor]loci.Role{
			m.people[1]: loci.RoleAdmin, m.people[2]: loci.RoleMember})
		var seen sync.Map // how often each answer came
		d.Check(t, func(rt *rapid.T) {
			m.t = rt
			m.random = rand.New(rand.NewPCG(1, rapid.Uint64().Draw(rt, "seed")))
			m.begin(t)
			for range rapid.IntRange(1, 8).Draw(rt, "rounds") {
				m.step(t, &seen)
			}
		})
		checkSessionRows(t, d)
		testenv.NoError(t, m.stores[0].Eraser().EraseAll(t.Context()))
		checkSessionRows(t, d)
		storetest.CheckHealthy(t, m.stores[0])
		var lines []string
		seen.Range(func(k, v any) bool { lines = append(lines, fmt.Sprintf("%s: %d", k, v)); return true })
		slices.Sort(lines)
		t.Log(strings.Join(lines, "; "))
	})
}

// step runs one round.
func (m *workModel) step(t *testing.T, seen *sync.Map) {
	switch m.random.IntN(8) {
	case 0:
		m.reopen(m.random.IntN(2))
	case 1:
		m.policy(t, m.random.IntN(3), Pick(m.random,
			[]loci.Policy{{Enabled: true, Mode: loci.ModeCandidates}, {Enabled: true, Mode: loci.ModeUnits},
				{Enabled: true, Paused: true, Mode: loci.ModeUnits}, {Mode: loci.ModeCandidates}}))
	}
	all := slices.Sorted(maps.Keys(m.state.sessions))
	session := Pick(m.random, all)
	calls := make([][]workCall, len(m.people)+1)
	for n := range calls {
		actor := n
		if n == len(m.people) { // the user of the session has a second client
			actor = m.state.sessions[session].owner
		}
		count := m.random.IntN(3)
		if actor == 3 {
			count = m.random.IntN(2)
		}
		for range count {
			calls[n] = append(calls[n], m.draw(actor, session))
		}
	}
	if len(all) == 0 {
		for n := range 3 {
			c := m.call(n, "start")
			c.automatic = true
			calls[n] = append(calls[n], c)
		}
	}
	m.round(t, calls)
	for _, c := range slices.Concat(calls...) {
		name := c.name + " " + strings.TrimRight(strings.Split(c.answer, " ")[0], "0123456789")
		n, _ := seen.LoadOrStore(name, 0)
		seen.Store(name, n.(int)+1)
	}
}
