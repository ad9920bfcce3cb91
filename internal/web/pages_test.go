package web_test

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestSetupPageMakesAccountAndKey(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, false)
	b.get("/setup?token=abc-1_2").expect(t, 200, "/setup?token=abc-1_2", `name="token" value="abc-1_2"`)
	for _, token := range []string{"used", "", `%22%3E%3Cscript%3Ealert(1)%3C/script%3E`} {
		got := b.get("/setup?token=" + token)
		got.expect(t, 404, "/setup?token="+token, "does not work", `href="/signin"`)
		if strings.Contains(got.raw, "<input") || strings.Contains(got.raw, "<script>alert") {
			t.Error(got.raw)
		}
	}
	b.post("/setup", "token", "used", "email", "ann@example.com", "password", password).expect(t, 404, "/setup",
		"does not work")
	testenv.Equal(t, b.calls(), "setup ann@example.com used")
	b.post("/setup", forms["/setup"]...).expect(t, 200, "/setup", loci0+"0", "loci login "+b.url+" --key -",
		"loci login "+b.url+"<", "loci setup claude", "reload this page")
	b.post("/setup", forms["/setup"]...).expect(t, 200, "/setup", loci0+"0")
	testenv.Equal(t, b.calls(), "setup ann@example.com abc-1_2; key First key")
	got := b.post("/setup", "token", "other")
	got.expect(t, 200, "/")
	if strings.Contains(got.text, loci0) {
		t.Error("another token shows the key")
	}
	b.get("/setup?token=abc-1_2").expect(t, 200, "/")
}

func TestSignInAndOut(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, false)
	b.get("/signin?email=a%22b&next=/invite%3Fid%3D1").expect(t, 200, "/signin?email=a%22b&next=/invite%3Fid%3D1",
		`name="next" value="/invite?id=1"`, "Ask the server's operator")
	b.post("/signin", forms["/signin"]...).expect(t, 200, "/", "Signed in as <strong>ann@example.com</strong>")
	got := b.post("/signout", "next", "/invite?id=1&token=abc")
	got.expect(t, 200, "/invite?id=1&token=abc", "Create an account")
	testenv.Equal(t, b.calls(), "login ann@example.com; logout")
	b.get("/").expect(t, 200, "/", `href="/signin"`)
}

func TestRegisterPage(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, true)
	b.get("/register?ref=code%00").expect(t, 200, "/register?ref=code%00", `name="ref" value="code"`)
	b.get("/register?ref=%3Cb%3E").expect(t, 200, "/register?ref=%3Cb%3E", `name="ref" value="<b>"`,
		"Nobody has the referral code of this link")
	if got := b.get("/register?ref=code"); strings.Contains(got.text, "Nobody has") {
		t.Error(got.text)
	}
	b.get("/register?ref=busy").expect(t, 429, "/register?ref=busy", "Try again in 3 seconds")
	b.post("/register", "email", "new@example.com", "name", "", "ref", "code", "invitation", "", "id", "", "password",
		password).expect(t, 200, "/", "Confirm your address: open the link")
	testenv.Equal(t, b.calls(), "register new@example.com  code ")
	b.get("/register").expect(t, 200, "/", "Signed in")

	b = newBrowser(t, false)
	b.closed = true
	b.get("/").expect(t, 200, "/", "No account yet? It needs an invitation.")
	b.empty = true
	b.get("/signin").expect(t, 200, "/signin", "printed a setup link")
	b.empty = false
	b.get("/register").expect(t, 403, "/register", "You cannot register",
		"does not create accounts for everybody", `href="/signin"`)
	b.post("/register", "email", "bad@example.com", "ref", "unknown", "password", password).expect(t, 403, "/register",
		"You cannot register", "does not create accounts for everybody")
	b.get("/register?ref=code").expect(t, 200, "/register?ref=code", "Create the account")
	got := b.get("/register?ref=WRONG")
	got.expect(t, 404, "/register?ref=WRONG", "You cannot register", "Nobody has the referral code of this link")
	if strings.Contains(got.raw, "<input") {
		t.Error(got.raw)
	}
}

func TestPagesOfferNoRegistrationWhereItIsClosed(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, true)
	b.shut = true
	const ask = "sk the operator"
	for link, status := range map[string]int{"/": 200, "/signin": 200, "/register": 403, "/register?ref=code": 403,
		"/register?id=1&invitation=abc": 403, "/invite?id=1&token=abc": 200} {
		got := b.get(link)
		got.expect(t, status, link, ask)
		for _, offer := range []string{`href="/register`, "Open the whole link", "needs an invitation"} {
			if strings.Contains(got.raw, offer) {
				t.Errorf("%s: %s", link, offer)
			}
		}
	}
}

func TestInvitedPersonRegisters(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, true)
	got := b.get("/invite?id=1&token=abc")
	got.expect(t, 200, "/invite?id=1&token=abc", `href="/register?id=1&invitation=abc"`,
		`href="/signin?email=cid%40example.com&next=%2Finvite%3Fid%3D1%26token%3Dabc"`)
	testenv.Contains(t, got.raw, "<bdi>&lt;b&gt;Ann</bdi> invites you to <bdi>&lt;script&gt;Team</bdi>")
	path := "/register?id=1&invitation=abc"
	b.get(path).expect(t, 200, path, `value="cid@example.com" minlength="3" maxlength="254" required readonly`,
		`name="invitation" value="abc"`, `name="id" value="1"`)
	b.post("/register", "id", "1", "invitation", "abc", "email", "cid@example.com", "password", "short").expect(t, 400,
		"/register", "Password must have", "required readonly")
	b.post("/register", "id", "1", "invitation", "abc", "email", "cid@example.com", "password", password).expect(t,
		200, "/invite?id=1&token=abc", "sign out")
	testenv.Equal(t, b.calls(), "register cid@example.com   abc")
}

func TestInvitePageHidesInvitationWithoutToken(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, true)
	for _, query := range []string{"", "?id=1", "?id=1&token=abd", "?id=9&token=abc"} {
		got := b.get("/invite" + query)
		got.expect(t, 404, "/invite"+query, "This link has no invitation")
		if strings.Contains(got.text, "Team") || strings.Contains(got.text, "cid@") {
			t.Error(got.text)
		}
	}
	for id, title := range map[string]string{"3": "has expired", "4": "was withdrawn", "5": "was accepted"} {
		got := b.get("/invite?token=abc&id=" + id)
		got.expect(t, 409, "/invite?token=abc&id="+id, "This invitation "+title)
		if strings.Contains(got.text, "Team") || strings.Contains(got.text, `name="accept"`) {
			t.Error(got.text)
		}
	}
}

func TestInvitePageAnswers(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, true)
	b.signIn("ann")
	b.get("/invite?id=2&token=abc").expect(t, 200, "/invite?id=2&token=abc", `name="accept" value="true"`)
	b.post("/invite", forms["/invite"]...).expect(t, 200, "/invite", "You are now a member of <bdi><script>Team</bdi>",
		"A program for which you chose workspaces reaches only those",
		"Connect a device")
	b.post("/invite", "id", "2", "token", "abc", "accept", "false", "confirm", "true").expect(t, 200, "/invite",
		"You declined the invitation")
	testenv.Equal(t, b.calls(), "respond accepted; respond declined")
	b.post("/invite", "id", "2", "token", "abc", "accept", "maybe", "confirm", "true").expect(t, 400, "/invite",
		"Accept must be true or false.", "Decline")
	b.post("/invite", "id", "2", "token", "abc", "accept", "true").expect(t, 400, "/invite", "Confirm is required.")
	b.get("/invite?id=1&token=abc").expect(t, 200, "/invite?id=1&token=abc",
		"sign in or register as <bdi>cid@example.com</bdi>")
}

func TestLinksOfMailsWorkByButton(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, true)
	for range 3 { // the scanner of a mailbox
		b.get("/verify?token=t1").expect(t, 200, "/verify?token=t1", "Confirm the address", `value="t1"`,
			"Loci knows that <strong><bdi>ann@example.com</bdi></strong> is yours")
		b.get("/reset?token=t2").expect(t, 200, "/reset?token=t2", "New password", `value="t2"`,
			"for the account <strong><bdi>ann@example.com</bdi></strong>")
	}
	if len(b.used) > 0 {
		t.Errorf("a GET uses %v up", b.used)
	}
	b.post("/verify", "token", "t1").expect(t, 200, "/verify", "Your address is confirmed", "What comes next", "/mcp")
	b.post("/verify", "token", "t1").expect(t, 404, "/verify", "This link does not work", "nothing is left to do")
	b.post("/reset", "token", "t2", "password", "short").expect(t, 400, "/reset", "Password must have", `value="t2"`)
	b.post("/reset", "token", "t2", "password", password).expect(t, 200, "/reset", "You have a new password",
		`href="/signin"`)
	b.post("/reset", "token", "t2", "password", password).expect(t, 404, "/reset", `href="/forgot"`)
	b.get("/verify?token=t1").expect(t, 404, "/verify?token=t1", "This link does not work")
	b.get("/reset?token=t2").expect(t, 404, "/reset?token=t2", "This link does not work")
	b.get("/verify").expect(t, 404, "/verify", "The link is not complete")
	b.get("/reset").expect(t, 404, "/reset", "The link is not complete")
}

func TestForgotPage(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, true)
	b.get("/signin").expect(t, 200, "/signin", `href="/forgot"`)
	b.get("/forgot").expect(t, 200, "/forgot", "Send the link")
	b.post("/forgot", "email", "ann@example.com").expect(t, 200, "/forgot", "Look into your mailbox")
	testenv.Equal(t, b.calls(), "forgot ann@example.com")
	without := newBrowser(t, false)
	without.get("/forgot").expect(t, 409, "/forgot", "sends no mail", "loci admin user reset")
	if got := without.get("/signin"); strings.Contains(got.text, "/forgot") {
		t.Error("the sign-in offers a mail")
	}
	without.post("/reset", "token", "x", "password", password).expect(t, 404, "/reset", "Ask the operator")
}

func TestHomePageSendsVerificationAgain(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, true)
	b.signIn("ann")
	b.get("/").expect(t, 200, "/", "Confirm your address", `action="/resend"`)
	b.post("/resend").expect(t, 200, "/resend", "We sent the link to <strong>ann@example.com</strong>")
	testenv.Equal(t, b.calls(), "resend")
	b.post("/key", "name", "laptop").expect(t, 200, "/key", "Confirm your address: open the link")
	if got := b.post("/invite", forms["/invite"]...); strings.Contains(got.text, "action=\"/resend\"") {
		t.Errorf("a response to an invitation verifies the address: %s", got.text)
	}
	b.verified = true
	if got := b.get("/"); strings.Contains(got.text, "Confirm your address") {
		t.Error(got.text)
	}
	without := newBrowser(t, false)
	without.signIn("ann")
	without.get("/").expect(t, 200, "/", "Your address is not confirmed", "loci admin user verify")
}

func TestStartPageShowsPendingInvitations(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, true)
	b.signIn("ann")
	b.invited = []loci.Invitation{{ID: "2", WorkspaceName: "<script>Team", ExpiresAt: 1}}
	if got := b.get("/"); strings.Contains(got.text, "Team") {
		t.Errorf("an address that is not verified sees an invitation: %s", got.text)
	}
	b.verified = true
	got := b.get("/")
	got.expect(t, 200, "/", "Invitations", `href="/invite?id=2"`, "Answer until 1 January 1970")
	if strings.Contains(got.raw, "<script>Team") {
		t.Error(got.raw)
	}
	b.post("/key", "name", "laptop").expect(t, 200, "/key", `href="/invite?id=2"`)
	b.invited = []loci.Invitation{}
	if got := b.get("/"); strings.Contains(got.text, "invitations") {
		t.Error(got.text)
	}
	b.invited = nil // the list fails
	b.get("/").expect(t, 200, "/", "Signed in")
}
