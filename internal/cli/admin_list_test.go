package cli

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/server"
	"github.com/loci-memory/loci/internal/testenv"
)

// createdKey makes a key by command, and returns its id.
func createdKey(t *testing.T, run func(want int, args ...string) string, email string) string {
	t.Helper()
	var k struct{ ID string }
	text := run(exitOK, "key", "create", "--email", email, "--name", "Lap\x1btop", "--json")
	if err := json.Unmarshal([]byte(text), &k); err != nil {
		t.Fatal(err, text)
	}
	return k.ID
}

func TestOperatorListsAndRevokesKeys(t *testing.T) {
	t.Parallel()
	_, run := newAdmin(t)
	run(exitOK, "user", "create", "--email", "bea@example.org")
	first, second := createdKey(t, run, "ada@example.org"), createdKey(t, run, "bea@example.org")
	if text := run(exitOK, "key", "list"); !strings.Contains(text, first) || !strings.Contains(text, second) ||
		strings.Contains(text, "\x1b") || strings.Contains(text, "REVOKED") || strings.Contains(text, "loci_live_") {
		t.Error(text)
	}
	if text := run(exitOK, "key", "list", "--email", "ADA@example.org", "--json"); !strings.HasPrefix(text,
		`{"ok":true,"keys":[{"id":"`+first) || strings.Contains(text, second) {
		t.Error(text)
	}
	expectText(t, run(exitFailure, "key", "list", "--email", "eve@example.org"),
		`no user with the address "eve@example.org"`)
	expectText(t, run(exitUsage, "key", "revoke", first[28:]), "add --yes")
	testenv.Equal(t, run(exitOK, "key", "revoke", strings.ToUpper(first), "--yes"),
		`Revoked the key "Lap␛top" (`+first+") of ada@example.org.\n")
	expectText(t, run(exitOK, "key", "revoke", first, "--json"), `"revokedAt":"`)
	expectText(t, run(exitOK, "key", "list"), "REVOKED")
	for id, want := range map[string]string{"0189": "at least the first or last 8 characters",
		"01890000-0000-7000-8000-000000000001": "There is no API key with this id",
		second[:8] + "%":                       "A key is named"} {
		expectText(t, run(exitFailure, "key", "revoke", id, "--yes"), want)
	}
}

func TestOperatorListsAndShowsWorkspaces(t *testing.T) {
	t.Parallel()
	dir, run := newAdmin(t)
	run(exitOK, "user", "create", "--email", "bea@example.org")
	team := addTeam(t, dir)
	if text := run(exitOK, "workspace", "list"); strings.Count(text, "personal") != 2 ||
		!strings.Contains(text, "Lab") {
		t.Error(text)
	}
	if text := run(exitOK, "workspace", "list", "--email", "bea@example.org", "--json"); strings.Contains(text,
		string(team)) || !strings.Contains(text, `"ownerEmail":"bea@example.org"`) {
		t.Error(text)
	}
	text := run(exitOK, "workspace", "show", string(team[:30]))
	for _, want := range []string{"owner-email   ada@example.org\n", "memory-count  1\n", "invitations   1\n",
		"MEMBERS", "ATLASES", "Inbox", "owner"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	expectText(t, run(exitOK, "workspace", "show", "LAB"), string(team))
	expectText(t, run(exitFailure, "workspace", "show", "personal"), "2 workspace records answer to")
	expectText(t, run(exitUsage, "workspace", "purge", string(team[28:])), "This would erase")
	if text := run(exitOK, "workspace", "show", string(team), "--json"); !strings.HasPrefix(text,
		`{"ok":true,"workspace":{"id":"`+string(team)+`"`) || !strings.Contains(text, `"usedBytes":5`) ||
		strings.Contains(text, "rock") {
		t.Error(text)
	}
	expectText(t, run(exitFailure, "workspace", "show", "01890000-0000-7000-8000-000000000001"),
		"There is no workspace with this id")
}

// addTeam adds a team of ada with a memory and an invitation to a database.
func addTeam(t *testing.T, dir string) loci.ID {
	t.Helper()
	ctx := context.Background()
	a := testenv.Must(server.OpenAdmin(ctx, server.Settings{Data: dir}))(t)
	defer a.Close()
	u := testenv.Must(a.EnsureUser(ctx, "ada@example.org"))(t)
	actor := &identity.Actor{UserID: u.ID, Email: u.Email, CredentialKind: identity.CredentialLocal,
		CredentialID: u.ID, Plan: identity.DefaultPlans[loci.PlanSelfHosted]}
	w, err := a.CreateWorkspace(ctx, actor, loci.CreateWorkspace{Name: "Lab"})
	if err != nil {
		t.Fatal(err)
	}
	_ = testenv.Must(a.CreateMemory(ctx, actor, loci.CreateMemory{Content: "rock!", WorkspaceID: w.Workspace.ID}))(t)
	_ = testenv.Must(a.CreateInvitations(ctx, actor, loci.CreateInvitations{WorkspaceID: w.Workspace.ID,
		Emails: []loci.Email{"cid@example.org"}}))(t)
	return w.Workspace.ID
}
