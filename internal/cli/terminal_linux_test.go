package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/console"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/testenv"
)

// typed returns a terminal at which a person has typed a text.
func typed(t *testing.T, text string) *os.File {
	t.Helper()
	_, terminal := openTerminal(t, text)
	return terminal
}

// openTerminal returns a terminal at which a person has typed a text, and its screen.
func openTerminal(t *testing.T, text string) (screen, terminal *os.File) {
	t.Helper()
	screen = testenv.Must(os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0))(t)
	t.Cleanup(func() { screen.Close() })
	testenv.NoError(t, unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0))
	n := testenv.Must(unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN))(t)
	terminal = testenv.Must(os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0))(t)
	t.Cleanup(func() { terminal.Close() })
	_ = testenv.Must(screen.WriteString(text))(t)
	return screen, terminal
}

// readScreen returns what a terminal shows until it is closed.
func readScreen(screen *os.File) <-chan string {
	shown := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(screen) // fails when the terminal is closed
		shown <- strings.ReplaceAll(string(b), "\r\n", "\n")
	}()
	return shown
}

func TestServerPrintsTextOnTerminal(t *testing.T) {
	t.Parallel()
	for variable, want := range map[string]string{"": " level=INFO msg=", "LOCI_LOG_FORMAT=json": `"level":"INFO"`} {
		ctx, stop := context.WithCancel(t.Context())
		screen, terminal := openTerminal(t, "")
		shown := readScreen(screen)
		p := &program{deps: defaultDeps, Console: console.Console{In: terminal, Out: banner{stop}, Err: terminal,
			Environ: []string{"HOME=" + t.TempDir(), variable}}}
		code := p.run(ctx, []string{"serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0"})
		testenv.NoError(t, terminal.Close())
		if text := <-shown; code != 0 || !strings.Contains(text, want) {
			t.Errorf("%q: %d %s", variable, code, text)
		}
	}
}

func TestLoginPromptsForKeyAtTerminal(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	server := newFakeServer(t, d.service)
	d.in = typed(t, fakeKey+"\n")
	d.expectRun(t, 0, "API key: ", "login", server.URL, "--key", "-")
	testenv.Contains(t, d.out.String(), "ada@example.org")
}

func TestMCPCommandExplainsItselfAtTerminal(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	d.in = typed(t, "\x04")
	if code := d.run("mcp"); code != 0 || d.out.Len() != 0 || !strings.Contains(d.err.String(), "Ctrl-D") {
		t.Errorf("%d %q %q", code, d.out.String(), d.err.String())
	}
}

func TestHookExplainsItselfAtTerminal(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	d.in = typed(t, "")
	const unnamed = "needs the name of an agent"
	for line, want := range map[string]string{"hook": unnamed, "hook ax": unnamed,
		"hook claude": "loci setup claude --hooks"} {
		code := d.run(strings.Fields(line)...)
		if code != 0 || d.out.Len() > 0 || !strings.Contains(d.err.String(), want) {
			t.Errorf("%s: %d %q %q", line, code, d.out.String(), d.err.String())
		}
	}
}

type deleteInput struct {
	AtlasID loci.ID `json:"atlasId" id:"atlas"`
	DryRun  bool    `json:"dry_run,omitzero"`
}

type deleteOutput struct {
	Memories    int `json:"memories,omitzero"`
	Attachments int `json:"attachments,omitzero"`
}

// addTeamOperations adds operations whose questions name several records, or count them. deeds has those that ran.
func addTeamOperations(t *op.Table, deeds *[]string) {
	op.Add(t, "workspace.get", "GET /v1/workspaces/{workspaceId}", "Read.", op.Account, op.NoTool,
		func(*fakeService, context.Context, *identity.Actor, loci.GetWorkspace) (loci.OneWorkspace, error) {
			return loci.OneWorkspace{Workspace: loci.Workspace{ID: fakeID, Name: "Lab"}}, nil
		})
	op.Add(t, "workspace.list", "GET /v1/workspaces", "List.", op.Account, op.NoTool,
		func(*fakeService, context.Context, *identity.Actor, loci.ListWorkspaces) (loci.Workspaces, error) {
			return loci.Workspaces{Workspaces: []loci.Workspace{{ID: fakeTwinID}, {ID: fakeID}}}, nil
		})
	op.Add(t, "member.list", "GET /v1/workspaces/{workspaceId}/members", "List.", op.Account, op.NoTool,
		func(*fakeService, context.Context, *identity.Actor, loci.ListMembers) (loci.Members, error) {
			cid := loci.Member{UserID: fakeTwinID, Name: "Cid\x1b", Email: "cid@example.org"}
			return loci.Members{Members: []loci.Member{cid}}, nil
		})
	op.Add(t, "invitation.list", "GET /v1/workspaces/{workspaceId}/invitations", "List.", op.Account, op.NoTool,
		func(_ *fakeService, _ context.Context, _ *identity.Actor,
			in loci.ListInvitations) (out loci.Invitations, err error) {
			if in.WorkspaceID != fakeID {
				return out, loci.NewError(loci.CodeForbidden)
			}
			out.Invitations = []loci.Invitation{{ID: fakeID, Email: "dan@example.org",
				WorkspaceName: "Lab\x1b"}}
			return out, nil
		})
	done := func(_ *fakeService, what string) (loci.Empty, error) {
		*deeds = append(*deeds, what)
		return loci.Empty{}, nil
	}
	op.Add(t, "member.remove", "DELETE /v1/workspaces/{workspaceId}/members/{userId}", "Remove.", op.Account,
		op.NoTool, func(s *fakeService, _ context.Context, _ *identity.Actor, _ loci.RemoveMember) (loci.Empty, error) {
			return done(s, "remove")
		}, op.Destructive)
	op.Add(t, "member.update", "PATCH /v1/workspaces/{workspaceId}/members/{userId}", "Update.", op.Account,
		op.NoTool, func(s *fakeService, _ context.Context, _ *identity.Actor, _ loci.UpdateMember) (loci.Empty, error) {
			return done(s, "update")
		})
	op.Add(t, "workspace.transfer", "POST /v1/workspaces/{workspaceId}/owner-transfer", "Transfer.", op.Account,
		op.NoTool, func(s *fakeService, _ context.Context, _ *identity.Actor,
			_ loci.TransferWorkspace) (loci.Empty, error) {
			return done(s, "transfer")
		}, op.Destructive)
	op.Add(t, "invitation.revoke", "DELETE /v1/workspace-invitations/{invitationId}", "Revoke.", op.Account,
		op.NoTool, func(s *fakeService, _ context.Context, _ *identity.Actor,
			_ loci.RevokeInvitation) (loci.Empty, error) {
			return done(s, "revoke")
		})
	op.Add(t, "grant.list", "GET /v1/grants", "List.", op.Person, op.NoTool,
		func(*fakeService, context.Context, *identity.Actor, loci.ListGrants) (loci.Grants, error) {
			return loci.Grants{Grants: []loci.Grant{{ID: fakeID, Client: loci.GrantClient{Name: "Editor\x1b"}}}}, nil
		})
	op.Add(t, "grant.revoke", "DELETE /v1/grants/{grantId}", "Revoke.", op.Person, op.NoTool,
		func(s *fakeService, _ context.Context, _ *identity.Actor, _ loci.RevokeGrant) (loci.Empty, error) {
			return done(s, "revoke grant")
		}, op.Destructive)
	op.Add(t, "account.delete", "POST /v1/me/delete", "Delete.", op.Person, op.NoTool,
		func(s *fakeService, _ context.Context, _ *identity.Actor, _ loci.Empty) (loci.Empty, error) {
			return done(s, "delete account")
		}, op.Destructive)
	op.Add(t, "atlas.delete", "DELETE /v1/atlases/{atlasId}", "Delete.", op.Account, op.NoTool,
		func(s *fakeService, _ context.Context, _ *identity.Actor, in deleteInput) (out deleteOutput, err error) {
			if in.DryRun {
				return deleteOutput{Memories: 1, Attachments: 2}, nil
			}
			_, err = done(s, "delete atlas")
			return out, err
		}, op.Destructive)
}

func TestQuestionNamesTheDeed(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	var deeds []string
	addTeamOperations(d.table, &deeds)
	const lab, cid = `the workspace "Lab" (` + fakeID + `)`, `the member "Cid␛" (cid@example.org, ` + fakeTwinID + `)`
	const final = " on this device? This cannot be undone. [y/N] "
	for _, c := range []struct{ line, question, deed string }{
		{"member remove " + fakeID + " " + fakeTwinID, "Remove " + cid + " of " + lab + final, "remove"},
		{"member remove " + fakeID + " " + fakeTwinID[:20], "Remove " + cid + " of " + lab + final, "remove"},
		{"member update " + fakeID + " " + fakeTwinID + " --role admin",
			"Give the role admin to " + cid + " of " + lab + " on this device? [y/N] ", "update"},
		{"workspace transfer " + fakeID + " --user-id " + fakeTwinID, "Transfer " + lab + " to " + cid + final,
			"transfer"},
		{"invitation revoke " + fakeID, `Revoke the invitation "dan@example.org" (` + fakeID +
			`) to the workspace "Lab␛" on this device? [y/N] `, "revoke"},
		{"grant revoke " + fakeID, `Revoke the grant "Editor␛" (` + fakeID + ")" + final, "revoke grant"},
		{"account delete", `Delete the account "ada@example.org" (` + fakeID + ")" + final, "delete account"},
		{"atlas delete " + fakeID, "Delete the atlas " + fakeID + " with 1 memory and 2 attachments" + final,
			"delete atlas"},
	} {
		for answer, want := range map[string]string{"y": c.deed, "yes": c.deed, "n": "", "": "", "x": ""} {
			deeds = nil
			d.in = typed(t, answer+"\n")
			code := d.run(strings.Fields(c.line)...)
			if strings.Join(deeds, " ") != want || (code == exitOK) != (want != "") ||
				!strings.Contains(d.err.String(), c.question) {
				t.Errorf("%s, %q: %d %v %s\nwant %s", c.line, answer, code, deeds, d.err.String(), c.question)
			}
		}
		deeds, d.in = nil, strings.NewReader("y\n")
		if code := d.run(strings.Fields(c.line)...); code != exitUsage || deeds != nil {
			t.Errorf("%s, off a terminal: %d %v %s", c.line, code, deeds, d.err.String())
		}
		if code := d.run(strings.Fields(c.line + " --yes")...); code != exitOK || strings.Join(deeds, " ") != c.deed {
			t.Errorf("%s --yes: %d %v %s", c.line, code, deeds, d.err.String())
		}
	}
	deeds = nil
	if code := d.run("atlas", "delete", fakeID, "--dry-run"); code != exitOK || deeds != nil ||
		!strings.Contains(d.out.String(), "1") {
		t.Errorf("a dry run: %d %v %s", code, deeds, d.err.String())
	}
}

// TestDeleteOfSeveralAsksOnce deletes two memories with one question, or none of them. A failure is reported for each.
func TestDeleteOfSeveralAsksOnce(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	d.service.pages = 1
	line := []string{"memory", "delete", fakeID, fakeTwinID[:23]}
	var deeds []string
	op.Add(d.table, "key.list", "GET /v1/api-keys", "List.", op.Person, op.NoTool,
		func(*fakeService, context.Context, *identity.Actor, loci.ListKeys) (loci.Keys, error) {
			return loci.Keys{Keys: []loci.APIKey{{ID: fakeID, Name: "One"}, {ID: fakeTwinID, Name: "Two"}}}, nil
		})
	op.Add(d.table, "key.revoke", "DELETE /v1/api-keys/{keyId}", "Revoke.", op.Person, op.NoTool,
		func(_ *fakeService, _ context.Context, _ *identity.Actor, in loci.RevokeKey) (loci.Empty, error) {
			deeds = append(deeds, string(in.KeyID))
			return loci.Empty{}, nil
		}, op.Destructive)
	keys := []string{"key", "revoke", fakeID, fakeTwinID}
	const question = `  the key "One" (` + fakeID + ")\n" + `  the key "Two" (` + fakeTwinID + ")\n" +
		"Revoke these 2 on this device? This cannot be undone. [y/N] "
	for answer, want := range map[string]string{"y": fakeID + " " + fakeTwinID, "n": ""} {
		deeds, d.in = nil, typed(t, answer+"\n")
		if code := d.run(keys...); strings.Join(deeds, " ") != want || (code == exitOK) != (want != "") ||
			!strings.HasPrefix(d.err.String(), question) {
			t.Errorf("%s: %d %v %s", answer, code, deeds, d.err.String())
		}
	}
	d.in = nil
	d.expectRun(t, exitUsage, "add --yes", line...)
	d.expectRun(t, exitUsage, "one record", append(line, "--yes", "--if-match", "x")...)
	d.expectRun(t, exitFailure, "No memory has an id", append(line, "01890000-9", "--yes")...)
	testenv.Equal(t, d.service.deleted, "")
	d.expectRun(t, exitOK, "", append(line, "--yes")...)
	testenv.Equal(t, d.out.String(), fakeID+"  done\n"+fakeTwinID+"  done\n")
	d.expectRun(t, exitOK, "", append(line, "--yes", "--json")...)
	testenv.Equal(t, d.out.String(), `{"ok":true,"results":[{"id":"`+fakeID+`","ok":true},{"id":"`+fakeTwinID+
		`","ok":true}]}`+"\n")
	d.expectRun(t, exitOK, "", "memory", "delete", fakeID, fakeID[:23], "--yes", "--json")
	testenv.Equal(t, d.out.String(), `{"ok":true,"results":[{"id":"`+fakeID+`","ok":true}]}`+"\n")
	d.service.keeps = true
	d.expectRun(t, exitFailure, `{"ok":false,"results":[{"id":"`+fakeID+`","ok":false,"code":"unavailable","message":"`,
		append(line, "--yes", "--json")...)
	d.expectRun(t, exitFailure, "2 of 2 failed", append(line, "--yes")...)
	testenv.Contains(t, d.err.String(), fakeID+": ")
}

func TestHolderOfLinkAnswersUnlistedInvitation(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	var deeds []string
	addTeamOperations(d.table, &deeds)
	line := []string{"invitation", "respond", fakeTwinID, "--accept"}
	d.in = typed(t, "y\n")
	if code := d.run(line...); code != exitFailure || bool(d.service.respond.Confirm) {
		t.Errorf("without a token: %d %s", code, d.err.String())
	}
	d.in = typed(t, "y\n")
	if code := d.run(append(line, "--token", "abc")...); code != exitOK || !bool(d.service.respond.Confirm) ||
		!strings.Contains(d.err.String(), "Accept the invitation "+fakeTwinID+" on this device? [y/N] ") {
		t.Errorf("%d %+v %s", code, d.service.respond, d.err.String())
	}
}

func TestPurgeCountsAndAsksAtTerminal(t *testing.T) {
	t.Parallel()
	dir, run := newAdmin(t)
	const line = "admin user purge --email ada@example.org --data "
	d := newTestTerminal(t)
	for answer, want := range map[string]int{"n": exitFailure, "": exitFailure} {
		d.in = typed(t, answer+"\n")
		d.expectRun(t, want, "Purge user ada@example.org: erase 1 user, ", strings.Fields(line+dir)...)
	}
	expectText(t, run(exitUsage, "user", "purge", "--email", "ada@example.org"), "add --yes")
	run(exitOK, "user", "show", "--email", "ada@example.org")
	d.in = typed(t, "y\n")
	if code := d.run(strings.Fields(line + dir)...); code != exitOK ||
		!strings.HasPrefix(d.out.String(), "Erased 1 user, ") {
		t.Errorf("%d %s%s", code, d.out.String(), d.err.String())
	}
	run(exitFailure, "user", "show", "--email", "ada@example.org")
}

func TestPasswordsAreAskedUnseenOrReadByLine(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	var changed loci.ChangePassword
	op.Add(d.table, "account.password", "POST /v1/me/password", "Change.", op.Person, op.NoTool,
		func(_ *fakeService, _ context.Context, _ *identity.Actor, in loci.ChangePassword) (loci.Empty, error) {
			changed = in
			return loci.Empty{}, nil
		})
	want := loci.ChangePassword{CurrentPassword: "correct horse", NewPassword: "battery staple"}
	const prompts = "Current password: \nNew password: \nNew password again: \n"
	d.in = typed(t, "correct horse\nbattery staple\nbattery staple\n")
	if code := d.run("account", "password"); code != exitOK || changed != want || d.err.String() != prompts {
		t.Errorf("%d %+v %q", code, changed, d.err.String())
	}
	changed, d.in = loci.ChangePassword{}, typed(t, "correct horse\nbattery staple\nbattery stable\n")
	if code := d.run("account", "password"); code != exitUsage || changed != (loci.ChangePassword{}) ||
		!strings.Contains(d.err.String(), "the two passwords differ") {
		t.Errorf("%d %+v %q", code, changed, d.err.String())
	}
	both := []string{"account", "password", "--current-password", "-", "--new-password", "-"}
	d.in = strings.NewReader("correct horse\r\nbattery staple")
	if code := d.run(both...); code != exitOK || changed != want {
		t.Errorf("%d %+v %q", code, changed, d.err.String())
	}
	d.in = strings.NewReader("correct horse\n")
	d.expectRun(t, exitUsage, "no more lines", both...)
	d.in = strings.NewReader("")
	d.expectRun(t, exitUsage, "--current-password", "account", "password")
}

func TestSetupAsksForAutomaticMemoryAtTerminal(t *testing.T) {
	t.Parallel()
	for answer, on := range map[string]bool{"y\n": true, "n\n": false} {
		d, policies := newPolicyTerminal(t)
		d.in = typed(t, answer)
		d.expectRun(t, 0, "Switch automatic memory on for your personal workspace?", "setup", "claude", "--hooks")
		if policies.policy.Enabled != on || strings.Contains(d.out.String(), "loci auto set") == on {
			t.Errorf("%q: %+v %s", answer, policies.policy, d.out.String())
		}
	}
}

// TestTargetIsNamedWhenItChanges runs commands on a terminal: the first one and each one with another target name it.
func TestTargetIsNamedWhenItChanges(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	server := newFakeServer(t, d.service)
	there := []string{"LOCI_URL=" + server.URL, "LOCI_API_KEY=" + fakeKey}
	for i, c := range []struct {
		environ []string
		want    string
	}{{nil, "loci: on this device\n"}, {nil, ""}, {there, "loci: on " + server.URL + "\n"}, {there, ""},
		{nil, "loci: on this device\n"}} {
		screen, terminal := openTerminal(t, "")
		shown := readScreen(screen)
		p := &program{deps: d.deps, Console: console.Console{In: strings.NewReader(""), Out: &d.out, Err: terminal,
			Environ: append([]string{"HOME=" + d.home, "TERM=dumb"}, c.environ...)}}
		code := p.run(t.Context(), []string{"memory", "get", fakeID})
		testenv.NoError(t, terminal.Close())
		if text := <-shown; code != 0 || text != c.want {
			t.Errorf("%d: %d %q, want %q", i, code, text, c.want)
		}
	}
	d.expectRun(t, 0, "", "memory", "get", fakeID)
	testenv.Equal(t, d.err.String(), "")
}

// A banner is the standard output of a server that a person stops once it listens.
type banner struct{ stop context.CancelFunc }

func (b banner) Write(p []byte) (int, error) {
	b.stop()
	return len(p), nil
}

func TestServerOnTerminalDrainsOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	for variable, want := range map[string]string{"": `"drain":"0s"`, "LOCI_DRAIN=1ns": `"drain":"1ns"`} {
		ctx, stop := context.WithCancel(t.Context())
		var log bytes.Buffer
		p := &program{deps: defaultDeps, Console: console.Console{In: typed(t, ""), Out: banner{stop}, Err: &log,
			Environ: []string{"HOME=" + t.TempDir(), variable}}}
		if code := p.run(ctx, []string{"serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0"}); code != 0 ||
			!strings.Contains(log.String(), want) {
			t.Errorf("%q: %d %s", variable, code, log.String())
		}
	}
}
