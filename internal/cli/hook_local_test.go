package cli

import (
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
			testenv.Equal(t, strings.Count(text, want+"loci review"), 1, name)
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

func TestHookFindsItsWorkspaceByName(t *testing.T) {
	t.Parallel()
	d, caller := newLocalTerminal(t)
	made := testenv.Must(op.Do(t.Context(), caller, &op.Call{}, service.WorkspaceCreate,
		loci.CreateWorkspace{Name: "Team"}))(t)
	_ = testenv.Must(op.Do(t.Context(), caller, &op.Call{}, service.AutoSet,
		loci.SetPolicy{WorkspaceID: made.Workspace.ID, Enabled: true}))(t)
	d.runHook(t, "claude", claudeHook("UserPromptSubmit", "prompt", "We use tabs."), "--workspace-id", "team")
	got := testenv.Must(op.Do(t.Context(), caller, &op.Call{}, service.SessionList, loci.ListSessions{}))(t)
	if len(got.Sessions) != 1 || got.Sessions[0].WorkspaceID != made.Workspace.ID {
		t.Errorf("%+v", got.Sessions)
	}
}

func TestDoctorNamesThePolicyOfTheHooks(t *testing.T) {
	t.Parallel()
	d, caller := newLocalTerminal(t)
	if report := d.doctorText(t); strings.Contains(report, "policy") {
		t.Errorf("before the first hook:\n%s", report)
	}
	d.runHook(t, "claude", claudeHook("SessionEnd"))
	_ = testenv.Must(op.Do(t.Context(), caller, &op.Call{}, service.WorkspaceCreate,
		loci.CreateWorkspace{Name: "Team"}))(t)
	d.runHook(t, "claude", claudeHook("SessionEnd"), "--workspace-id", "team")
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
