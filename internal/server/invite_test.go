package server

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// A testTeam is a workspace on a running server, whose owner invites.
type testTeam struct {
	t            *testing.T
	address, key string
	id           string
	admin        *Admin
}

func newTestTeam(t *testing.T) *testTeam {
	t.Helper()
	dir := t.TempDir()
	address, _, _, _ := start(t, map[string]string{"data": dir})
	admin, err := OpenAdmin(context.Background(), Settings{Data: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { admin.Close() })
	m := &testTeam{t: t, address: address, admin: admin}
	m.user("ann@example.com", "Ann Lee")
	k, err := admin.CreateKey(t.Context(), "ann@example.com", "")
	if err != nil {
		t.Fatal(err)
	}
	m.key = k.APIKey
	m.id = m.post("/v1/workspaces", `{"name":"Bridge <builders>"}`)["workspace"].(map[string]any)["id"].(string)
	return m
}

func (m *testTeam) user(email, name string) {
	m.t.Helper()
	if _, err := m.admin.CreateUser(m.t.Context(), email, name, password); err != nil {
		m.t.Fatal(err)
	}
}

func (m *testTeam) post(path, body string) map[string]any {
	m.t.Helper()
	status, v := callAPI(m.t, http.MethodPost, m.address+path, m.key, body)
	if status >= 300 {
		m.t.Fatal(path, status, v)
	}
	return v
}

// invite returns the path of an invitation's link, and its fields.
func (m *testTeam) invite(email string) (path string, fields []string) {
	m.t.Helper()
	v := m.post("/v1/workspaces/"+m.id+"/invitations", `{"emails":["`+email+`"]}`)
	u, err := url.Parse(v["invitations"].([]any)[0].(map[string]any)["inviteUrl"].(string))
	if err != nil {
		m.t.Fatal(err)
	}
	return u.RequestURI(), []string{"id", u.Query().Get("id"), "token", u.Query().Get("token")}
}

// members returns the addresses of the members, each between spaces.
func (m *testTeam) members() string {
	m.t.Helper()
	_, v := callAPI(m.t, http.MethodGet, m.address+"/v1/workspaces/"+m.id+"/members", m.key, "")
	all := " "
	for _, one := range v["members"].([]any) {
		all += one.(map[string]any)["email"].(string) + " "
	}
	return all
}

// answerForm returns the fields of the form that answers an invitation.
func answerForm(link []string, accept, key string) []string {
	return append(slices.Clone(link), "accept", accept, "confirm", "true", "idempotencyKey", key)
}

const workspaceName = "Bridge <builders>"

func TestInvitePageRegistersAndJoins(t *testing.T) {
	t.Parallel()
	m := newTestTeam(t)
	path, link := m.invite("Bob@example.com")
	b := newBrowser(t, m.address, "127.0.0.1")
	if status, _, text := b.get(path); status != 200 ||
		!strings.Contains(text, "<bdi>Ann Lee</bdi> invites you to <bdi>"+workspaceName+"</bdi>") ||
		!strings.Contains(text, "Bob@example.com") {
		t.Fatalf("the page: %d %s", status, text)
	}
	accept := answerForm(link, "true", "1")
	if _, at, _ := b.postForm("/invite", accept...); !strings.HasPrefix(at, "/signin?next=%2Finvite%3Fid%3D") ||
		strings.Contains(m.members(), " Bob@") {
		t.Errorf("somebody without an account answers: at %s, members %s", at, m.members())
	}
	register := []string{"id", link[1], "invitation", link[3], "email", "Bob@example.com", "password"}
	if status, _, text := b.postForm("/register", append(register, "short")...); status != 400 ||
		!strings.Contains(text, "Password must") || !strings.Contains(text, "invites <strong><bdi>Bob@example.com") {
		t.Errorf("a short password: %d %s", status, text)
	}
	status, at, text := b.postForm("/register", append(register, password)...)
	if status != 200 || at != path || !strings.Contains(text, "signed in as Bob@example.com") &&
		!strings.Contains(text, "<strong>Bob@example.com</strong>") || strings.Contains(m.members(), " Bob@") {
		t.Fatalf("registered: %d %s %s", status, at, text)
	}
	if status, _, text := b.postForm("/invite", accept...); status != 200 ||
		!strings.Contains(text, "You are now a member of <bdi>"+workspaceName+"</bdi>.") ||
		!strings.Contains(m.members(), " Bob@example.com ") {
		t.Fatalf("accepted: %d %s, members %s", status, text, m.members())
	}
	if status, _, text := b.get(path); status != 409 || !strings.Contains(text, "This invitation was accepted") ||
		!strings.Contains(text, "You are a member") {
		t.Errorf("the link, later: %d %s", status, text)
	}
	if status, _, text := b.postForm("/invite", answerForm(link, "false", "2")...); status != 409 ||
		!strings.Contains(m.members(), " Bob@") {
		t.Errorf("a second answer: %d %s", status, text)
	}
	stranger := newBrowser(t, m.address, "127.0.0.1")
	if status, _, text := stranger.get(path); status != 404 || strings.Contains(text, workspaceName) ||
		strings.Contains(text, "Bob@") {
		t.Errorf("a stranger with the used link: %d %s", status, text)
	}
}

func TestInvitePageSignsInAndResponds(t *testing.T) {
	t.Parallel()
	m := newTestTeam(t)
	m.user("bob@example.com", "")
	path, link := m.invite("bob@example.com")
	b := newBrowser(t, m.address, "127.0.0.1")
	if status, _, text := b.postForm("/register", "id", link[1], "invitation", link[3], "email",
		"bob@example.com", "password", password); status != 409 ||
		!strings.Contains(text, `href="/signin?email=bob%40example.com&next=%2Finvite%3Fid%3D`) {
		t.Errorf("an address with an account registers: %d %s", status, text)
	}
	if _, at, text := b.postForm("/signin", "email", "bob@example.com", "password", password, "next",
		path); at != path ||
		!strings.Contains(text, "Decline") {
		t.Fatalf("sign-in leads to %s: %s", at, text)
	}
	withoutToken := "/invite?id=" + link[1] + "&token="
	if status, _, text := b.get(withoutToken); status != 200 || !strings.Contains(text, "Decline") {
		t.Errorf("the owner of the address, without the token: %d %s", status, text)
	}
	foreign := *b
	foreign.origin = "http://evil.example"
	if status, _, _ := foreign.postForm("/invite", answerForm(link, "true", "3")...); status != 403 ||
		strings.Contains(m.members(), " bob@") {
		t.Errorf("a page of another origin answers: %d", status)
	}
	if status, _, text := b.postForm("/invite", answerForm(link, "false", "2")...); status != 200 ||
		!strings.Contains(text, "You declined the invitation to <bdi>"+workspaceName+"</bdi>.") ||
		strings.Contains(m.members(), " bob@") {
		t.Errorf("declined: %d %s", status, text)
	}
	if status, _, text := b.get(withoutToken); status != 409 ||
		!strings.Contains(text, "This invitation was declined") {
		t.Errorf("later: %d %s", status, text)
	}
}

func TestInvitePageRejectsOtherUser(t *testing.T) {
	t.Parallel()
	m := newTestTeam(t)
	m.user("eve@example.com", "")
	path, link := m.invite("bob@example.com")
	b := newBrowser(t, m.address, "127.0.0.1")
	b.postForm("/signin", "email", "eve@example.com", "password", password)
	if status, _, text := b.get("/invite?id=" + link[1]); status != 404 || strings.Contains(text, workspaceName) {
		t.Errorf("without the token: %d %s", status, text)
	}
	if status, _, text := b.get(path); status != 200 ||
		!strings.Contains(text, "sign out, and sign in or register as <bdi>bob@example.com</bdi>") ||
		strings.Contains(text, "Decline") {
		t.Errorf("with the token: %d %s", status, text)
	}
	if status, _, _ := b.postForm("/invite", answerForm(link, "true", "3")...); status != 404 ||
		strings.Contains(m.members(), " eve@") {
		t.Errorf("another person joins: %d, members %s", status, m.members())
	}
	if _, at, text := b.postForm("/signout", "next", path, "idempotencyKey", "4"); at != path ||
		!strings.Contains(text, "create an account for this address") {
		t.Errorf("after signing out: %s %s", at, text)
	}
}
