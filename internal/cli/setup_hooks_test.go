package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/testenv"
)

// A fakePolicies keeps the policy of one person.
type fakePolicies struct {
	*fakeService
	policy loci.Policy
	set    []loci.SetPolicy
	fails  bool
}

func (f *fakePolicies) Get(_ context.Context, _ *identity.Actor, in loci.GetPolicy) (out loci.OnePolicy, err error) {
	switch {
	case f.fails:
		return out, loci.NewError(loci.CodeUnavailable)
	case in.WorkspaceID != "" && in.WorkspaceID != fakeID:
		return out, loci.NewError(loci.CodeNotFound)
	}
	return loci.OnePolicy{Policy: f.policy}, nil
}

func (f *fakePolicies) Set(_ context.Context, _ *identity.Actor, in loci.SetPolicy) (loci.OnePolicy, error) {
	f.set = append(f.set, in)
	f.policy.Enabled, f.policy.Adapters = in.Enabled, in.Adapters
	return loci.OnePolicy{Policy: f.policy}, nil
}

// newPolicyTerminal returns a terminal whose device has automatic memory.
func newPolicyTerminal(t *testing.T) (*testTerminal, *fakePolicies) {
	d := newTestTerminal(t)
	policies := &fakePolicies{fakeService: d.service, policy: loci.DefaultPolicy()}
	table := &op.Table{}
	op.Add(table, "auto.get", "GET /v1/auto", "Show.", op.Account, op.NoTool, (*fakePolicies).Get)
	op.Add(table, "auto.set", "PUT /v1/auto?workspace_id", "Set.", op.Account, op.NoTool, (*fakePolicies).Set)
	host := d.service.host()
	host.Service = policies
	d.deps.table = table
	d.deps.openLocal = func(context.Context, string, bool) (op.Caller, func() error, error) {
		return fakeCaller{table, host}, func() error { return nil }, nil
	}
	return d, policies
}

func TestSetupWiresHooks(t *testing.T) {
	t.Parallel()
	self := testenv.Must(os.Executable())(t)
	d, policies := newPolicyTerminal(t)
	for client, file := range map[string]string{"claude": ".claude/settings.json", "codex": ".codex/hooks.json",
		"opencode": ".config/opencode/plugins/loci.js", "pi": ".pi/agent/extensions/loci.js",
		"workbuddy": ".workbuddy/settings.json"} {
		d.expectRun(t, 0, "That starts "+self, "setup", client, "--hooks", "--local")
		expectText(t, d.file(t, file), self, "--local")
		d.expectRun(t, 0, "Nothing was changed", "setup", client, "--hooks", "--local")
		d.expectRun(t, 0, "  yes    ", "setup")
		d.expectRun(t, 0, "no longer", "setup", client, "--hooks", "--remove")
		d.expectRun(t, 0, "Nothing was changed", "setup", client, "--hooks", "--remove")
		testenv.Equal(t, d.file(t, file), "")
	}
	d.expectRun(t, 0, "/dev/null", "setup", "claude", "--hooks", "--dry-run")
	d.expectRun(t, 0, "by the agent \"mine\"", "setup", "zed", "--hooks", "--name", "mine", "--", "agent", "--acp")
	expectText(t, d.file(t, ".config/zed/settings.json"), `"agent_servers": {`, `"mine": {`, `"--acp"`)
	if len(policies.set) > 0 {
		t.Errorf("a policy was written unasked: %+v", policies.set)
	}
}

func TestSetupNamesTheWorkspaceOfHooks(t *testing.T) {
	t.Parallel()
	d, policies := newPolicyTerminal(t)
	op.Add(d.table, "workspace.get", "GET /v1/workspaces/{workspaceId}", "Read.", op.Account, op.NoTool,
		func(*fakePolicies, context.Context, *identity.Actor, loci.GetWorkspace) (loci.OneWorkspace, error) {
			return loci.OneWorkspace{Workspace: loci.Workspace{ID: fakeID, Name: "Lab"}}, nil
		})
	op.Add(d.table, "workspace.list", "GET /v1/workspaces", "List.", op.Account, op.NoTool,
		func(*fakePolicies, context.Context, *identity.Actor, loci.ListWorkspaces) (loci.Workspaces, error) {
			return loci.Workspaces{Workspaces: []loci.Workspace{{ID: fakeID, Name: "Lab"}}}, nil
		})
	const flag = "--workspace-id " + fakeID
	d.expectRun(t, 0, `is off for the workspace "Lab". Until then nothing is kept. It is switched on by: `+
		"loci auto set --enabled "+flag+" --local\n", strings.Fields("setup claude --hooks --local "+flag)...)
	for range 2 {
		if text := d.file(t, ".claude/settings.json"); strings.Count(text, "hook claude --local "+flag+`"`) != 4 {
			t.Error(text)
		}
		d.expectRun(t, 0, "Nothing was changed", "setup", "claude", "--hooks", "--local", "--workspace-id", "lab")
	}
	d.expectRun(t, 1, `there are "Lab"`, "setup", "claude", "--hooks", "--local", "--workspace-id", "Lob")
	d.expectRun(t, 0, `is on for the workspace "Lab".`, strings.Fields("setup claude --hooks --yes "+flag)...)
	if len(policies.set) != 1 || policies.set[0].WorkspaceID != fakeID {
		t.Errorf("%+v", policies.set)
	}
	d.expectRun(t, 0, "your personal workspace", "setup", "claude", "--hooks")
	if text := d.file(t, ".claude/settings.json"); strings.Contains(text, fakeID) {
		t.Error(text)
	}
	d.expectRun(t, 1, "not_found", "setup", "claude", "--hooks", "--workspace-id", fakeTwinID)
	if text := d.file(t, ".claude/settings.json"); strings.Contains(text, fakeTwinID) {
		t.Error(text)
	}
}

// TestSetupKeepsThePolicy switches automatic memory and the adapter on, and changes nothing else.
func TestSetupKeepsThePolicy(t *testing.T) {
	t.Parallel()
	d, policies := newPolicyTerminal(t)
	policies.policy = loci.Policy{Paused: true, Mode: loci.ModeUnits, AtlasID: fakeID, MinLength: 7, KeepTurns: true,
		CreatedAt: 1, Adapters: loci.NewAdapterSwitches([]loci.Adapter{"codex", "pi"}),
		ExcludePaths: []string{"/secret/**"}}
	d.expectRun(t, 0, "loci auto set --enabled --adapters-codex\n", "setup", "codex", "--hooks")
	d.expectRun(t, 0, "loci auto set --enabled\n", "setup", "zed", "--hooks", "--", "agent")
	d.expectRun(t, 0, "on for your personal workspace, and paused", "setup", "codex", "--hooks", "--yes")
	if len(policies.set) != 1 {
		t.Fatalf("%+v", policies.set)
	}
	in := policies.set[0]
	if !in.Enabled || !in.Paused || in.Mode != loci.ModeUnits || in.AtlasID != fakeID || in.MinLength != 7 ||
		!in.KeepTurns || !slices.Equal(in.ExcludePaths, loci.PathPatterns{"/secret/**"}) ||
		!slices.Equal(in.Adapters.Off(), []loci.Adapter{"pi"}) {
		t.Errorf("%+v", in)
	}
	d.expectRun(t, 0, "and paused", "setup", "codex", "--hooks", "--yes")
	testenv.Equal(t, len(policies.set), 1)
}

func TestAutoSetKeepsWhatNoFlagNames(t *testing.T) {
	t.Parallel()
	d, policies := newPolicyTerminal(t)
	policies.policy = loci.Policy{Enabled: true, Mode: loci.ModeUnits, AtlasID: fakeID, MinLength: 7,
		Adapters:     loci.NewAdapterSwitches([]loci.Adapter{"codex", "pi"}),
		ExcludePaths: []string{"/secret/**"}}
	d.expectRun(t, 0, "", "auto", "set", "--paused", "--adapters-codex", "--enabled=false")
	in := policies.set[0]
	if in.Enabled || !in.Paused || in.Mode != loci.ModeUnits || in.AtlasID != fakeID || in.MinLength != 7 ||
		!slices.Equal(in.ExcludePaths, loci.PathPatterns{"/secret/**"}) ||
		!slices.Equal(in.Adapters.Off(), []loci.Adapter{"pi"}) {
		t.Errorf("%+v", in)
	}
}

func TestSetupNamesCommandThatSwitchesOn(t *testing.T) {
	t.Parallel()
	d, policies := newPolicyTerminal(t)
	d.expectRun(t, 0, "It is switched on by: loci auto set --enabled\n", "setup", "claude", "--hooks")
	var out struct {
		Action, Name string
		Hooks        bool
		Automatic    struct {
			Enabled bool
			Command string
		}
	}
	if code := d.run("setup", "claude", "--hooks", "--json", "--local"); code != 0 ||
		json.Unmarshal(d.out.Bytes(), &out) != nil || out.Automatic.Enabled || !out.Hooks || out.Name != "" ||
		out.Action != "updated" || out.Automatic.Command != "loci auto set --enabled --local" {
		t.Errorf("%d %s %s", code, d.out.String(), d.err.String())
	}
	policies.fails = true
	d.expectRun(t, 0, "could not be read", "setup", "claude", "--hooks")
	d.expectRun(t, 1, "", "setup", "claude", "--hooks", "--yes", "--local")
	if text := d.file(t, ".claude/settings.json"); strings.Contains(text, "--local") || len(policies.set) > 0 {
		t.Errorf("%+v", policies.set)
	}
}

// TestSetupSaysNothingOfAutomaticMemoryWithoutIt leaves the policy out where the contract has none.
func TestSetupSaysNothingOfAutomaticMemoryWithoutIt(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	d.expectRun(t, 0, "reports prompts", "setup", "claude", "--hooks", "--yes")
	if text := d.out.String(); strings.Contains(text, "Automatic memory") {
		t.Error(text)
	}
}

func TestSetupShowsBrokenHooks(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	path := filepath.Join(d.home, ".claude", "settings.json")
	testenv.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
	testenv.NoError(t, os.WriteFile(path, []byte("{\n  \"hooks\": {,}\n}\n"), 0o600))
	d.expectRun(t, 0, "The hooks of Claude Code: "+path+": line 2, column 13: ", "setup")
	d.expectRun(t, 1, "line 2, column 13: ", "setup", "claude", "--hooks")
}
