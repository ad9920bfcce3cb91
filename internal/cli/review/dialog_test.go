package review

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/console"
	"github.com/loci-memory/loci/internal/cli/records"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/title"
)

const (
	session   = "01a20154-2c96-728a-887c-000000000001"
	candidate = "01a20154-2c97-728a-887c-0000000000c"
	memory    = "01a20154-2c99-728a-887c-0000000000e"
)

// A fakeServer keeps candidates, and lists the calls that change them.
type fakeServer struct {
	candidates map[loci.ID]*loci.Candidate
	calls      []string
}

// Call runs an operation as far as a review needs it.
func (s *fakeServer) Call(_ context.Context, o *op.Op, call *op.Call, a op.Args) ([]byte, error) {
	if o.Method == "POST" && call.IdempotencyKey == "" {
		return nil, errors.New(o.Name + " is not safe to repeat")
	}
	var in struct {
		CandidateID  loci.ID
		CandidateIDs []loci.ID
		MemoryID     loci.ID
		Action       loci.ModerationAction
		Supersede    json.RawMessage
		Content      string
	}
	if err := json.Unmarshal(a.JSON, &in); err != nil {
		return nil, err
	}
	c := s.candidates[in.CandidateID]
	switch o.Name {
	case "session.list":
		return json.Marshal(loci.Sessions{Sessions: []loci.Session{{ID: session, Title: "Ship \x1b[31mit"}}})
	case "session.candidates":
		var page loci.Candidates
		for _, id := range slices.Sorted(maps.Keys(s.candidates)) {
			page.Candidates = append(page.Candidates, *s.candidates[id])
		}
		return json.Marshal(page)
	case "memory.list":
		return []byte(`{"memories":[{"id":"` + memory + `1"},{"id":"` + memory + `2"}]}`), nil
	case "memory.get":
		return json.Marshal(loci.MemoryDetail{Memory: loci.Memory{ID: in.MemoryID, Content: "Old " +
			string(in.MemoryID[35:]), Status: loci.MemoryActive}})
	case "session.edit":
		s.calls = append(s.calls, "edit "+in.Content)
		c.Content, c.Title = in.Content, in.Content
		return json.Marshal(loci.OneCandidate{Candidate: *c})
	case "session.review":
		var out loci.ModerationResults
		s.calls = append(s.calls, fmt.Sprint(in.Action, " ", len(in.CandidateIDs)))
		for _, id := range in.CandidateIDs {
			out.Results = append(out.Results, loci.ModerationResult{BulkResult: loci.BulkResult{ID: id, OK: true}})
		}
		return json.Marshal(out)
	}
	move := map[loci.ModerationAction]string{"compile": "compiled", "dismiss": "dismissed", "revert": "reverted"}
	status, err := loci.CandidateStates.Apply(c.Status, move[in.Action])
	if err != nil {
		return nil, err
	}
	c.Status = status
	s.calls = append(s.calls, strings.TrimSpace(fmt.Sprintf("%s %s %s", in.Action, in.CandidateID[35:], in.Supersede)))
	if in.Supersede != nil {
		_ = json.Unmarshal(in.Supersede, &c.Replaces) // a text
	}
	return json.Marshal(loci.ModeratedCandidate{Candidate: *c, Memory: &loci.Memory{ID: memory + "9"}})
}

// add adds an operation without a method: the fake server runs it.
func add[In, Out any](t *op.Table, name, route string) {
	op.Add(t, name, route, "Do "+name+".", op.Account, op.NoTool,
		func(*fakeServer, context.Context, *identity.Actor, In) (out Out, err error) { return out, nil })
}

// newReview returns a server with a candidate without similar memories, one with one, and one with two.
func newReview(in string) (o Options, r records.Reader, s *fakeServer, out, screen *bytes.Buffer) {
	t := &op.Table{}
	add[loci.ListCandidates, loci.Candidates](t, "session.candidates", "GET /candidates")
	add[loci.ListSessions, loci.Sessions](t, "session.list", "GET /sessions")
	add[loci.ListMemories, loci.Memories](t, "memory.list", "GET /memories")
	add[loci.GetMemory, loci.MemoryDetail](t, "memory.get", "GET /memories/{memoryId}")
	add[loci.ModerateCandidates, loci.ModerationResults](t, "session.review", "POST /review")
	add[loci.ModerateCandidate, loci.ModeratedCandidate](t, "session.moderate",
		"POST /sessions/{sessionId}/candidates/{candidateId}/moderate")
	add[loci.EditCandidate, loci.OneCandidate](t, "session.edit",
		"PATCH /sessions/{sessionId}/candidates/{candidateId}")
	s = &fakeServer{candidates: map[loci.ID]*loci.Candidate{}}
	for i := range 3 {
		c := &loci.Candidate{ID: loci.ID(fmt.Sprint(candidate, i+1)), SessionID: session, Status: loci.CandidatePending,
			Content: fmt.Sprintf("**Text** %d \x1b[31m<&>.", i+1), Type: loci.TypeFact,
			Similar: []loci.SimilarToMemory{}}
		c.Title = title.Derive(c.Content)
		for n := range i {
			c.Similar = append(c.Similar, loci.SimilarToMemory{MemoryID: loci.ID(fmt.Sprint(memory, n+1)), Score: 0.8})
		}
		s.candidates[c.ID] = c
	}
	out, screen = &bytes.Buffer{}, &bytes.Buffer{}
	o = Options{List: t.Op("session.candidates"), Review: t.Op("session.review"), Console: &console.Console{
		In: iotest.OneByteReader(strings.NewReader(in)), Out: out, Err: screen}}
	return o, records.Reader{Caller: s, Table: t}, s, out, screen
}

// TestDialogDecides types answers, and compares the calls and the count of the decisions.
func TestDialogDecides(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ answers, calls, shows, summary string }{
		{"k|keep|d", "compile 1, compile 2, dismiss 3", "undone by: loci review --undo 000000c3",
			"2 kept, 1 dismissed; 0 candidates wait."},
		{"k|r|r", `compile 1, compile 2 "` + memory + `1"`, "replace 1 for the first one", "2 kept, 0 dismissed; 1 c"},
		{"s|s|r 2", `compile 3 "` + memory + `2"`, "2. 80 % similar to the memory 000000e2\n  Old 2", "1 kept"},
		{"r 00000000e1", `compile 1 "` + memory + `1"`, "2 of 3", "1 kept"},
		{"r 00000000e7", "", "No memory has an id that begins or ends with 00000000e7", "0 kept"},
		{"r|k now|x|", "", "answer with a word", "0 kept, 0 dismissed; 3 candidates wait."},
		{"u|d|u|k|q", "dismiss 1, revert 1, compile 1", "[s]kip [u]ndo", "1 kept, 0 dismissed; 2 c"},
		{"k|u|e|d|u|k", "compile 1, revert 1, compile 1", "it was a memory", "1 kept, 0 dismissed; 2"},
		{"s|r|u|k", `compile 2 "` + memory + `1", revert 2, compile 2 ""`, "kept and undone", "1 kept"},
		{"s|u|q", "", "1 of 3", "0 kept"},
	} {
		o, r, s, out, screen := newReview(strings.ReplaceAll(c.answers, "|", "\n") + "\n")
		list := make([]loci.Candidate, 3)
		for i := range list {
			list[i] = *s.candidates[loci.ID(fmt.Sprint(candidate, i+1))]
		}
		x := &dialog{Options: o, r: r, candidates: list}
		testenv.NoError(t, x.readSessions(t.Context(), loci.ListCandidates{}))
		err := x.run(t.Context())
		if got := strings.Join(s.calls, ", "); err != nil || got != c.calls ||
			!strings.Contains(screen.String(), c.shows) || !strings.HasPrefix(out.String(), c.summary) {
			t.Errorf("%s: %v, %q %s%s", c.answers, err, got, out, screen)
		}
		if text := screen.String(); strings.Contains(text, "\x1b[31m") || strings.Contains(text, "\n  Text ") ||
			!strings.Contains(text, `"Ship ␛[31mit"`) {
			t.Errorf("%s shows %q", c.answers, text)
		}
	}
}

// TestFlagsDecide compares the calls and results of flags.
func TestFlagsDecide(t *testing.T) {
	t.Parallel()
	for flags, want := range map[string]string{
		"--keep 000000c1,000000c2 --dismiss 000000c3 --undo " + candidate + "1": "compile 2, dismiss 1, revert 1",
		"--replace 000000c2":                          `compile 2 "` + memory + `1"`,
		"--replace 000000c3=000000e2 --keep 000000c1": `compile 1, compile 3 "` + memory + `2"`,
		"--replace 000000c1":                          "is similar to 0 memories: name the memory that it replaces: ",
		"--replace 000000c3 --keep 000000c1":          "is similar to 2 memories",
		"--keep 000000c1 --dismiss 000000c9":          "No candidate has an id",
		"--keep 000000c1 --session-id 00000001":       "leave out the filters",
		"--keep 000000c3 --dismiss " + candidate + "3": "--keep and --dismiss both name the candidate " +
			candidate + "3",
		"--dismiss=":  "--dismiss names no candidate",
		"--scope all": "scope must be one of own, managed",
		"":            "000000c3",
	} {
		o, r, s, out, _ := newReview("")
		o.Open = func(context.Context) (records.Reader, func() error, error) {
			return r, func() error { return nil }, nil
		}
		o.Values = func(string) cobra.CompletionFunc { return cobra.NoFileCompletions }
		cmd := Command(o)
		cmd.SetArgs(strings.Fields(flags))
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		got := ""
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			got = err.Error()
		}
		if got += strings.Join(s.calls, ", "); flags == "" {
			got = out.String()
		}
		if !strings.Contains(got, want) || strings.Contains(want, "similar to") && s.calls != nil {
			t.Errorf("%s: %s, want %s", flags, got, want)
		}
	}
}
