package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/server"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/testenv"
)

// newLocalTerminal returns a machine with a database of its own, in which automatic memory is on.
func newLocalTerminal(t *testing.T) (*testTerminal, op.Caller) {
	d := newTestTerminal(t)
	d.table = service.Ops
	dir := filepath.Join(d.home, ".local", "share", "loci", "local")
	testenv.NoError(t, os.MkdirAll(dir, 0o700))
	open := testenv.Must(server.OpenLocal(t.Context(), dir, false))(t)
	t.Cleanup(func() { testenv.NoError(t, open.Close()) })
	d.openLocal = func(context.Context, string, bool) (op.Caller, func() error, error) {
		return open.Host, func() error { return nil }, nil
	}
	_ = testenv.Must(op.Do(t.Context(), open.Host, &op.Call{}, service.AutoSet, loci.SetPolicy{Enabled: true}))(t)
	return d, open.Host
}

// recordedHooks returns the payloads of a recording with a decision in place of its prompt, and a session of its own.
func recordedHooks(t *testing.T, name, session, decision string) (payloads []string) {
	found, _ := filepath.Glob("../../../shared/data/hooks/" + name + "-*.jsonl")
	if len(found) == 0 {
		t.Skip("the recorded payloads are not beside this repository (../shared/data/hooks)")
	}
	file := testenv.Must(os.Open(found[0]))(t)
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	replace := strings.NewReplacer("say hello with the tool", decision, "All done: the tool said hello.",
		"Noted, it is written down.", "hello-from-tool", "We decided to use Tool Output.", "-8af1-", "-"+session+"-",
		"8306582e-", session+"-", "01a1fd4b-c1fc", "01a1fd4b-"+session, "01a1fd8a-50eb", "01a1fd8a-"+session,
		"ses_", "ses_"+session)
	for lines.Scan() {
		text := replace.Replace(lines.Text())
		var row struct {
			Stdin json.RawMessage `json:"stdin"`
			Argv  json.RawMessage `json:"argv_json"`
		}
		testenv.NoError(t, json.Unmarshal([]byte(text), &row))
		switch {
		case len(row.Stdin) > 4: // null without one
			text = string(row.Stdin)
		case row.Argv != nil:
			text = string(row.Argv)
		}
		payloads = append(payloads, text)
	}
	return payloads
}

// Every agent's recording, sent twice in two sessions at once, gives one decision for each session.
func TestHookExtractsTheSameFromEveryAgent(t *testing.T) {
	t.Parallel()
	for agent, name := range map[string]string{"claude": "claude-code", "workbuddy": "claude-code", "codex": "codex",
		"opencode": "opencode", "pi": "pi"} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			one := recordedHooks(t, name, "aaaa", "We decided to use Quartz as the scheduler for billing.")
			two := recordedHooks(t, name, "bbbb", "We decided to host the wiki on Basalt from now on.")
			d, caller := newLocalTerminal(t)
			for range 2 {
				for i := range one {
					d.runHook(t, agent, one[i])
					d.runHook(t, agent, two[i])
				}
			}
			list := testenv.Must(op.Do(t.Context(), caller, &op.Call{}, service.SessionCandidates,
				loci.ListCandidates{}))(t)
			seen := map[string]int{}
			for _, c := range list.Candidates {
				if seen[c.Content]++; strings.Contains(c.Content, "Tool") || c.Type != loci.TypeDecision {
					t.Errorf("%+v", c)
				}
			}
			for _, word := range []string{"Quartz", "Basalt"} {
				found := 0
				for content, n := range seen {
					if strings.Contains(content, word) {
						found += n
					}
				}
				testenv.Equal(t, found, 1, word)
			}
		})
	}
}

// The hook at the start of a session, doctor and setup tell the person what waits, and the command that they name lists
// it.
func TestCommandsReportWaitingCandidates(t *testing.T) {
	t.Parallel()
	d, caller := newLocalTerminal(t)
	said := func() map[string]string {
		_ = d.run("setup", "claude", "--hooks", "--yes")
		setup := d.out.String()
		return map[string]string{"hook": d.runHook(t, "claude", claudeHook("SessionStart", "source", "startup")),
			"doctor": d.doctorText(t), "setup": setup}
	}
	for name, text := range said() {
		if strings.Contains(text, "wait for your review") || strings.Contains(text, "systemMessage") {
			t.Errorf("%s says that none wait: %s", name, text)
		}
	}
	for n, want := range []string{"1 candidate waits for your review: ", "2 candidates wait for your review: "} {
		prompt := []string{"We decided to use Quartz as the scheduler for billing.",
			"We decided to host the wiki on Basalt from now on."}[n]
		d.runHook(t, "claude", claudeHook("UserPromptSubmit", "prompt", prompt, "prompt_id", prompt))
		for name, text := range said() {
			testenv.Equal(t, strings.Count(text, want+"loci session candidates --status pending"), 1, name)
		}
		d.run("session", "candidates", "--status", "pending", "--json")
		var list loci.Candidates
		if err := json.Unmarshal(d.out.Bytes(), &list); err != nil || len(list.Candidates) != n+1 {
			t.Errorf("%d are listed, %v", len(list.Candidates), err)
		}
	}
	list := testenv.Must(op.Do(t.Context(), caller, &op.Call{}, service.SessionCandidates, loci.ListCandidates{}))(t)
	for _, c := range list.Candidates {
		in := loci.ModerateCandidate{SessionID: c.SessionID, CandidateID: c.ID, Action: loci.ModerationDismiss}
		_ = testenv.Must(op.Do(t.Context(), caller, &op.Call{}, service.SessionModerate, in))(t)
	}
	for name, text := range said() {
		if strings.Contains(text, "for your review") {
			t.Errorf("%s tells of reviewed ones: %s", name, text)
		}
	}
}

func TestDoctorNamesThePolicyOfTheHooks(t *testing.T) {
	t.Parallel()
	d, caller := newLocalTerminal(t)
	if report := d.doctorText(t); strings.Contains(report, "policy") {
		t.Errorf("before the first hook:\n%s", report)
	}
	d.runHook(t, "claude", claudeHook("SessionEnd"))
	made := testenv.Must(op.Do(t.Context(), caller, &op.Call{}, service.WorkspaceCreate,
		loci.CreateWorkspace{Name: "Team"}))(t)
	d.runHook(t, "claude", claudeHook("SessionEnd"), "--workspace-id", string(made.Workspace.ID))
	for _, c := range []struct {
		policy loci.SetPolicy
		want   string
	}{
		{loci.SetPolicy{Enabled: true}, "policy    ok: automatic memory is on, its mode is candidates"},
		{loci.SetPolicy{Enabled: true, Paused: true}, "policy    ok: automatic memory is paused"},
		{loci.SetPolicy{}, "policy    ok: automatic memory is off"},
	} {
		_ = testenv.Must(op.Do(t.Context(), caller, &op.Call{}, service.AutoSet, c.policy))(t)
		if report := d.doctorText(t); !strings.Contains(report, c.want) ||
			!strings.Contains(report, `policy    ok: automatic memory in the workspace "Team" is off: loci auto set`) {
			t.Errorf("want %s\n%s", c.want, report)
		}
	}
}
