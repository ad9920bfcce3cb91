package session_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
)

// A workState is the sessions of a team, and the memories that they made, by the rules of the contract. Sessions and
// memories have the number of the call that made them; 0 is none.
type workState struct {
	atlases  [2]loci.ContainerStatus // "" is deleted
	sessions map[int]sessionState
	memories map[int]sessionMemory // 100 numbers for each call
	policies [3]loci.Policy        // by person
	made     int                   // memories so far
}

type sessionState struct {
	owner, atlas int
	automatic    bool
	external     string
	status       loci.SessionStatus
	archived     bool
	memory       int
	checkpoints  int
	candidates   []candidateState
	units        []unitState
	events       []string
}

type candidateState struct {
	source, content string
	status          loci.CandidateStatus
	memory          int
}

type unitState struct {
	key    string
	status loci.UnitStatus
	memory int
}

type sessionMemory struct {
	owner, atlas, version int
	content               string
	archived              bool
	place                 int // in the order of creation
}

// A workCall is a call by a person: 0 is the owner, 1 an admin, 2 a member, 3 a stranger.
type workCall struct {
	number, actor, server int

	name      string
	session   int // its target
	memory    int // its target
	atlas     int
	list      []int
	automatic bool
	key       string // external id, source, unit or event
	text      string
	action    string
	policy    loci.Policy

	id     loci.ID // of the session that start answered with
	answer string
}

func (c workCall) String() string {
	return fmt.Sprintf("#%d: person %d: %s session=#%d memory=%d atlas=%d list=%v key=%q text=%q %s: %q\n", c.number,
		c.actor, c.name, c.session, c.memory, c.atlas, c.list, c.key, c.text, c.action, c.answer)
}

const (
	notFound  = string(loci.CodeNotFound)
	forbidden = string(loci.CodeForbidden)
	conflict  = string(loci.CodeStateConflict)
)

func (s workState) clone() workState {
	s.sessions, s.memories = maps.Clone(s.sessions), maps.Clone(s.memories)
	for n, x := range s.sessions {
		x.candidates, x.units, x.events = slices.Clone(x.candidates), slices.Clone(x.units), slices.Clone(x.events)
		s.sessions[n] = x
	}
	return s
}

// apply returns the state after a call, and its answer.
func (s workState) apply(c workCall) (workState, string) {
	next := s.clone()
	answer := ""
	switch c.name {
	case "start":
		answer = next.start(c)
	case "policy":
		if answer = notFound; c.actor < 3 {
			next.policies[c.actor], answer = c.policy, ""
		}
	case "archive memory", "restore memory", "delete memory":
		answer = next.changeMemory(c)
	case "archive atlas", "restore atlas", "delete atlas":
		answer = next.changeAtlas(c)
	case "bulk":
		for _, n := range c.list {
			answer += next.bulk(c, n) + ","
		}
	default:
		answer = next.inSession(c)
	}
	return next, answer
}

func (s *workState) start(c workCall) string {
	if c.actor == 3 || s.atlases[c.atlas] == "" {
		return notFound
	}
	if c.key != "" {
		for _, n := range slices.Sorted(maps.Keys(s.sessions)) {
			if x := s.sessions[n]; x.owner == c.actor && x.external == c.key && x.automatic == c.automatic {
				return s.resume(n)
			}
		}
	}
	if s.atlases[c.atlas] == loci.ContainerArchived {
		return conflict
	}
	s.sessions[c.number] = sessionState{owner: c.actor, atlas: c.atlas, automatic: c.automatic, external: c.key,
		status: loci.SessionActive}
	return fmt.Sprint("session ", c.number)
}

func (s *workState) resume(n int) string {
	x := s.sessions[n]
	if s.atlases[x.atlas] == loci.ContainerArchived {
		return conflict
	}
	if x.archived = false; x.automatic {
		x.status = loci.SessionActive
	}
	s.sessions[n] = x
	return fmt.Sprint("session ", n)
}

func (s *workState) changeMemory(c workCall) string {
	m, ok := s.memories[c.memory]
	switch {
	case !ok || c.actor == 3:
		return notFound
	case c.actor == 2 && m.owner != 2:
		return forbidden
	case c.name == "delete memory":
		s.deleteMemory(c.memory)
		return ""
	case s.atlases[m.atlas] == loci.ContainerArchived, m.archived != (c.name == "restore memory"):
		return conflict
	}
	m.archived = !m.archived
	m.version++
	s.memories[c.memory] = m
	return ""
}

// deleteMemory deletes a memory with the links to it.
func (s *workState) deleteMemory(n int) {
	delete(s.memories, n)
	for k, x := range s.sessions {
		if x.memory == n {
			x.memory = 0
		}
		for i := range x.candidates {
			if x.candidates[i].memory == n {
				x.candidates[i].memory = 0
			}
		}
		for i := range x.units {
			if x.units[i].memory == n {
				x.units[i].memory = 0
			}
		}
		s.sessions[k] = x
	}
}

func (s *workState) changeAtlas(c workCall) string {
	wanted := map[string]loci.ContainerStatus{"archive atlas": loci.ContainerArchived,
		"restore atlas": loci.ContainerActive}[c.name]
	switch was := s.atlases[c.atlas]; {
	case was == "" || c.actor == 3:
		return notFound
	case c.actor == 2:
		return forbidden
	case was == wanted:
		return conflict
	}
	s.atlases[c.atlas] = wanted
	if wanted == "" {
		maps.DeleteFunc(s.sessions, func(_ int, x sessionState) bool { return x.atlas == c.atlas })
		maps.DeleteFunc(s.memories, func(_ int, m sessionMemory) bool { return m.atlas == c.atlas })
	}
	return ""
}

// reach returns the refusal of a call in a session before its state matters.
func (s *workState) reach(actor, session int, managed bool) string {
	x, ok := s.sessions[session]
	switch {
	case !ok, actor == 3, actor == 2 && x.owner != 2:
		return notFound
	case x.owner != actor && !managed:
		return forbidden
	}
	return ""
}

func (s *workState) bulk(c workCall, n int) string {
	if code := s.reach(c.actor, n, c.action != "delete"); code != "" {
		return code
	}
	if c.action == "delete" {
		delete(s.sessions, n)
		return ""
	}
	return s.setArchived(n, c.action == "archive")
}

func (s *workState) setArchived(n int, archived bool) string {
	x := s.sessions[n]
	if x.archived == archived || s.atlases[x.atlas] == loci.ContainerArchived {
		return conflict
	}
	x.archived = archived
	s.sessions[n] = x
	return ""
}

// managedCalls are the calls in the session of another member that managers may make.
var managedCalls = []string{"get", "moderate", "revert", "archive"}

// inSession applies a call in one session.
func (s *workState) inSession(c workCall) string {
	if code := s.reach(c.actor, c.session, slices.Contains(managedCalls, c.name)); code != "" {
		return code
	}
	x := s.sessions[c.session]
	changeable := !x.archived && s.atlases[x.atlas] == loci.ContainerActive
	open := changeable && x.status == loci.SessionActive
	answer := conflict
	switch c.name {
	case "get":
		return ""
	case "archive":
		return s.setArchived(c.session, c.action == "archive")
	case "capture":
		answer = x.capture(c, open)
	case "checkpoint":
		if open {
			answer = ""
			x.checkpoints++
		}
	case "open unit":
		answer = x.openUnit(c, open && x.automatic)
	case "finalize unit":
		answer = s.finalizeUnit(c, &x, open)
	case "event":
		answer = s.event(c, &x, changeable)
	case "moderate":
		answer = s.moderate(c, &x, changeable)
	case "finalize":
		if open {
			answer = s.finalize(c, &x)
		}
	case "complete":
		if open && x.automatic && !slices.ContainsFunc(x.units, func(u unitState) bool {
			return u.status == loci.UnitOpen
		}) {
			answer, x.status = "", loci.SessionCompleted
		}
	case "reopen":
		if changeable && x.automatic && x.status != loci.SessionActive {
			answer, x.status = "", loci.SessionActive
		}
	case "revert":
		if m, ok := s.memories[x.memory]; changeable && ok && !m.archived {
			answer = ""
			s.archiveMemory(x.memory)
		}
	}
	s.sessions[c.session] = x
	return answer
}

func (s *workState) archiveMemory(n int) {
	if m, ok := s.memories[n]; ok && !m.archived {
		m.archived = true
		m.version++
		s.memories[n] = m
	}
}

func (x *sessionState) capture(c workCall, open bool) string {
	if slices.ContainsFunc(x.candidates, func(k candidateState) bool { return k.source == c.key }) {
		return "existing"
	}
	if !open {
		return conflict
	}
	x.candidates = append(x.candidates, candidateState{c.key, c.text, loci.CandidatePending, 0})
	return "created"
}

func (x *sessionState) unit(key string) int {
	return slices.IndexFunc(x.units, func(u unitState) bool { return u.key == key })
}

func (x *sessionState) openUnit(c workCall, open bool) string {
	if !open {
		return conflict
	}
	n := x.unit(c.key)
	if n < 0 {
		x.units = append(x.units, unitState{c.key, loci.UnitOpen, 0})
		return "created"
	}
	if c.action == "follow up" {
		x.units[n].status = loci.UnitOpen
	}
	return "resumed"
}

func (s *workState) finalizeUnit(c workCall, x *sessionState, open bool) string {
	n := x.unit(c.key)
	if n < 0 {
		return notFound
	}
	if !open || s.memories[x.units[n].memory].archived {
		return conflict
	}
	x.units[n].status = loci.UnitFinalized
	s.storeUnit(c, x, n, c.text)
	return ""
}

// storeUnit writes the memory of a unit.
func (s *workState) storeUnit(c workCall, x *sessionState, n int, content string) {
	u := &x.units[n]
	if m, ok := s.memories[u.memory]; ok {
		m.content = content
		m.version++
		s.memories[u.memory] = m
	} else {
		u.memory = s.addMemory(x, c.number*100, content)
	}
	x.memory = u.memory
}

func (s *workState) event(c workCall, x *sessionState, changeable bool) string {
	if slices.Contains(x.events, c.key) {
		return "duplicate"
	}
	if !changeable || !x.automatic {
		return conflict
	}
	policy := s.policies[x.owner]
	if !policy.Accepts("claude") {
		return "ignored"
	}
	x.events, x.status = append(x.events, c.key), loci.SessionActive
	if policy.Mode == loci.ModeCandidates {
		x.candidates = append(x.candidates, candidateState{c.key, c.text, loci.CandidatePending, 0})
		return "drawn"
	}
	n := x.unit(c.action)
	if n < 0 {
		x.units, n = append(x.units, unitState{c.action, loci.UnitFinalized, 0}), len(x.units)
	}
	former := s.memories[x.units[n].memory]
	if !former.archived {
		s.storeUnit(c, x, n, strings.TrimPrefix(former.content+"\n"+c.text, "\n"))
	}
	return ""
}

func (s *workState) moderate(c workCall, x *sessionState, changeable bool) string {
	n := slices.IndexFunc(x.candidates, func(k candidateState) bool { return k.source == c.key })
	if n < 0 {
		return notFound
	}
	k := &x.candidates[n]
	switch {
	case !changeable:
		return conflict
	case c.action == "compile" && k.status == loci.CandidatePending:
		k.status, k.memory = loci.CandidateCompiled, s.addMemory(x, c.number*100, k.content)
	case c.action == "compile" && k.status == loci.CandidateReverted:
		k.status = loci.CandidateCompiled
		if m, ok := s.memories[k.memory]; ok && m.archived {
			m.archived = false
			m.version++
			s.memories[k.memory] = m
		} else if !ok {
			k.memory = s.addMemory(x, c.number*100, k.content)
		}
	case c.action == "dismiss" && k.status == loci.CandidatePending:
		k.status = loci.CandidateDismissed
	case c.action == "revert" && k.status == loci.CandidateCompiled:
		k.status = loci.CandidateReverted
		s.archiveMemory(k.memory)
	case c.action == "revert" && k.status == loci.CandidateDismissed:
		k.status, k.memory = loci.CandidatePending, 0
	default:
		return conflict
	}
	return ""
}

// finalize compiles the pending candidates, and dismisses those whose content is known.
func (s *workState) finalize(c workCall, x *sessionState) string {
	compiled, skipped := 0, 0
	for i := range x.candidates {
		k := &x.candidates[i]
		if k.status != loci.CandidatePending {
			continue
		}
		if known := s.active(x.atlas, k.content); known != 0 {
			k.status, k.memory = loci.CandidateDismissed, known
			skipped++
			continue
		}
		k.status, k.memory = loci.CandidateCompiled, s.addMemory(x, c.number*100+compiled, k.content)
		compiled++
	}
	x.status = loci.SessionFinalized
	return fmt.Sprintf("%d compiled, %d skipped", compiled, skipped)
}

// active returns the first active memory of an atlas with a content.
func (s *workState) active(atlas int, content string) (first int) {
	for n, m := range s.memories {
		if m.atlas == atlas && m.content == content && !m.archived &&
			(first == 0 || m.place < s.memories[first].place) {
			first = n
		}
	}
	return first
}

// addMemory makes a memory of a session.
func (s *workState) addMemory(x *sessionState, n int, content string) int {
	s.made++
	s.memories[n] = sessionMemory{owner: x.owner, atlas: x.atlas, version: 1, content: content, place: s.made}
	return n
}

func (m sessionMemory) String() string {
	if m.version == 0 {
		return "none"
	}
	return fmt.Sprintf("%q v%d archived=%v", m.content, m.version, m.archived)
}

// describe returns the state as people see it. The names of the parts are sorted.
func (s workState) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "atlases=%q\n", s.atlases)
	for _, n := range slices.Sorted(maps.Keys(s.sessions)) {
		x := s.sessions[n]
		fmt.Fprintf(&b, "session %d of %d in %d: %s archived=%v checkpoints=%d events=%d memory: %s\n", n, x.owner,
			x.atlas, x.status, x.archived, x.checkpoints, len(x.events), s.memories[x.memory])
		var parts []string
		for _, k := range x.candidates {
			parts = append(parts, fmt.Sprintf("  candidate %s %q %s: %s", k.source, k.content, k.status,
				s.memories[k.memory]))
		}
		for _, u := range x.units {
			parts = append(parts, fmt.Sprintf("  unit %s %s: %s", u.key, u.status, s.memories[u.memory]))
		}
		slices.Sort(parts)
		b.WriteString(strings.Join(append(parts, ""), "\n"))
	}
	var all []string
	for _, m := range s.memories {
		all = append(all, fmt.Sprintf("  %s in %d of %d", m, m.atlas, m.owner))
	}
	slices.Sort(all)
	return b.String() + strings.Join(all, "\n")
}

// explainWork searches a serial order of concurrent calls that gives their answers, and then the observed state. The
// calls of one person are in order.
func explainWork(s workState, calls [][]workCall, observed string) (after workState, ok bool) {
	done := true
	for n, list := range calls {
		if len(list) == 0 {
			continue
		}
		done = false
		next, answer := s.apply(list[0])
		if answer != list[0].answer {
			continue
		}
		rest := slices.Clone(calls)
		rest[n] = list[1:]
		if after, ok = explainWork(next, rest, observed); ok {
			return after, true
		}
	}
	return s, done && s.describe() == observed
}
