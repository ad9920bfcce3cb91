package cli

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

// newAgentTerminal returns a terminal at a server with an inbox of an unread, an acknowledged and a closed message.
func newAgentTerminal(t *testing.T) *testTerminal {
	d := newTestTerminal(t)
	server := newFakeServer(t, d.service)
	for i, status := range []loci.ReceiptStatus{loci.ReceiptUnread, loci.ReceiptAcknowledged, loci.ReceiptClosed} {
		m := loci.InboxMessage{Message: loci.Message{ID: messageIDs[i], WorkspaceID: fakeID,
			Subject: "About " + string(status), CreatedAt: 1e15,
			From:    loci.MessageSender{AgentID: "agt_2", Name: "beta\x1b"},
			Content: "Line one.\nLine two, " + strings.Repeat("long ", 100) + "end."}}
		m.Receipt.MessageID, m.Receipt.Status = m.ID, status
		d.service.inbox = append(d.service.inbox, m)
	}
	d.Environ = append(d.Environ, "LOCI_URL="+server.URL, "LOCI_API_KEY="+fakeKey)
	return d
}

var messageIDs = []loci.ID{"01890000-0000-7000-8000-00000000000a", "01890000-0000-7000-8001-00000000000b",
	"01890000-0000-7000-8002-00000000000c"}

func TestCommandsForAgentsNameTheAgent(t *testing.T) {
	t.Parallel()
	d := newAgentTerminal(t)
	d.in = strings.NewReader("Is basalt free?\n")
	d.expectRun(t, 0, "RECIPIENTS", "agent", "send", "--to-agent-id", "agt_"+strings.Repeat("0", 32), "--content", "-")
	if d.service.sent.Content != "Is basalt free?\n" || d.service.actor.AgentID == "" {
		t.Errorf("%+v %+v", d.service.sent, d.service.actor)
	}
	d.expectRun(t, 0, "No agent has received it", "agent", "send", "--broadcast", "--content", "Hi")
	d.expectRun(t, 2, "unknown flag", "agent", "send", "--agent")
}

func TestInboxIsTableAndOneMessageIsWhole(t *testing.T) {
	t.Parallel()
	d := newAgentTerminal(t)
	d.expectRun(t, 0, "  FROM   SUBJECT             CONTENT", "agent", "inbox", "--all")
	if got := d.out.String(); strings.Count(got, "\n") != 3 || strings.Count(got, "…") != 2 ||
		!strings.Contains(got, "  acknowledged  2001-09-09") || strings.Contains(got, "\x1b") {
		t.Error(got)
	}
	for _, given := range []string{string(messageIDs[2]), string(messageIDs[2])[:23]} {
		d.expectRun(t, 0, "receipt.status", "agent", "show", given)
		got := d.out.String()
		if !strings.HasPrefix(got, "id  ") || !strings.Contains(got, "closed\n") ||
			!strings.Contains(got, "\n\nLine one.\nLine two, ") || !strings.HasSuffix(got, "end.\n") {
			t.Error(got)
		}
	}
	d.expectRun(t, 0, `{"ok":true,"message":{"id":"`+string(messageIDs[0]), "agent", "show", string(messageIDs[0]), "--json")
	d.expectRun(t, 1, "not_found", "agent", "show", fakeID)
	d.expectRun(t, 1, "3 message records answer to", "agent", "show", "01890000-0000-7000-800")
	d.expectRun(t, 2, "<message-id> is required", "agent", "show")
}

func TestMessageIDMayBePrefix(t *testing.T) {
	t.Parallel()
	d := newAgentTerminal(t)
	for _, id := range messageIDs {
		d.expectRun(t, 0, "", "agent", "acknowledge", string(id)[:23])
		if d.service.moved != id || d.service.actor.AgentID == "" {
			t.Errorf("%s: %s", id, d.service.moved)
		}
	}
	d.expectRun(t, 1, `01890000-0000-7000-8000-00000000000a "About unread"`, "agent", "acknowledge", "01890000")
}

func TestAgentsNeedServerAndKey(t *testing.T) {
	t.Parallel()
	commands := [][]string{{"agent", "inbox"}, {"agent", "acknowledge", fakeID}, {"agent", "show", fakeID},
		{"agent", "listen"}, {"mcp", "--agent"}}
	d := newTestTerminal(t)
	for _, line := range commands {
		d.expectRun(t, 1, "A database on this device has no agents", line...)
	}
	d.browse = visit
	server := newOAuthServer(t, d.service)
	d.expectRun(t, 0, "Signed in to ", "login", server.URL, "--workspaces")
	for _, line := range append(commands, []string{"memory", "create", "--content", "x", "--agent"}) {
		d.expectRun(t, 1, "create a key at "+server.URL+", and run loci login "+server.URL+" --key -", line...)
	}
	d.expectRun(t, 0, "", "memory", "create", "--content", "x")
	with := append(d.Environ, "LOCI_URL="+server.URL)
	d.Environ, with = with, d.Environ
	d.expectRun(t, 1, "create a key at ", "agent", "inbox")
	d.Environ = with
	d.expectRun(t, 0, "Signed in to ", "login", server.URL)
	d.expectRun(t, 0, "Nothing found", "agent", "inbox")
}

func TestListenEndsWhenKeyIsRevoked(t *testing.T) {
	t.Parallel()
	d := newAgentTerminal(t)
	d.expectRun(t, 1, "This key was revoked at ", "agent", "listen", "--workspace-id", fakeID)
	if got := d.out.String(); strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, `{"id":"`+fakeID) {
		t.Error(got)
	}
	d.expectRun(t, 1, `"code":"revoked"`, "agent", "listen", "--json")
	d.expectRun(t, 2, "runs no shell", "agent", "listen", "--exec", "cat | sh")
}

// toolAnswers runs loci mcp, and returns its answers to two calls and a list.
func (d *testTerminal) toolAnswers(t *testing.T, args ...string) string {
	t.Helper()
	d.in = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"agent_send","arguments":` +
		`{"toAgentId":"agt_1","content":"Hi"}}}` + "\n" + `{"jsonrpc":"2.0","id":3,"method":"tools/list"}` + "\n")
	d.expectRun(t, 0, "", append([]string{"mcp"}, args...)...)
	return d.out.String()
}

func TestToolsActAsAgentOfKey(t *testing.T) {
	t.Parallel()
	d := newAgentTerminal(t)
	const instruction = "read agent_inbox"
	if got := d.toolAnswers(t); strings.Contains(got, `"name":"agent_`) || strings.Contains(got, instruction) {
		t.Errorf("without --agent: %s", got)
	}
	if got := d.toolAnswers(t, "--toolset", "full"); strings.Contains(got, `"isError":true`) ||
		d.service.sent.Content != "Hi" || !strings.Contains(got, instruction) {
		t.Errorf("the set full: %s", got)
	}
	if got := d.toolAnswers(t, "--agent"); strings.Contains(got, `"isError":true`) || d.service.sent.Content != "Hi" ||
		d.service.actor.AgentID == "" || !strings.Contains(got, instruction) {
		t.Errorf("%s", got)
	}
	if got := d.toolAnswers(t, "--agent", "--toolset", "core"); strings.Contains(got, `"name":"agent_`) ||
		strings.Contains(got, instruction) {
		t.Errorf("the core set: %s", got)
	}
	if got := newTestTerminal(t).toolAnswers(t, "--toolset", "full"); strings.Contains(got, `"name":"agent_`) {
		t.Errorf("on this device: %s", got)
	}
}
