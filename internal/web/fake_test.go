package web_test

import (
	"context"
	"errors"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/logtest"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/rest"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/web"
)

const password = "correct horse battery"

// A fakeService has the user ann, whose browser has the cookie "ann".
type fakeService struct {
	mu       sync.Mutex
	ran      []string          // the operations that were run, with their inputs
	keys     map[string]string // by idempotency key
	used     map[string]bool   // tokens
	spaces   []loci.Workspace  // of ann
	grants   []loci.Grant      // of ann
	closed   bool              // nobody may register without an invitation or a referral
	shut     bool              // nobody may register
	verified bool
	empty    bool              // there is no account
	invited  []loci.Invitation // of ann
}

func (s *fakeService) note(texts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ran = append(s.ran, strings.Join(texts, " "))
}

func signedIn(email loci.Email, secret string, created bool) loci.SignedIn {
	return loci.NewSignedIn(loci.User{ID: "ann", Email: string(email)}, loci.SignIn{Secret: secret, MaxAge: time.Hour},
		created)
}

func (s *fakeService) Me(context.Context, *identity.Actor, loci.Empty) (loci.OneUser, error) {
	return loci.OneUser{User: loci.User{ID: "ann", Email: "ann@example.com", EmailVerified: s.verified}}, nil
}

func (s *fakeService) Login(_ context.Context, _ *identity.Actor, in loci.Login) (loci.SignedIn, error) {
	s.note("login", string(in.Email))
	if in.Password != password {
		return loci.SignedIn{}, loci.Errorf(loci.CodeInvalidKey, "The address or the password is wrong.")
	}
	return signedIn(in.Email, "ann", false), nil
}

func (s *fakeService) Logout(context.Context, *identity.Actor, loci.Empty) (loci.SignedOut, error) {
	s.note("logout")
	return loci.SignedOut{}, nil
}

func (s *fakeService) Register(_ context.Context, _ *identity.Actor, in loci.Register) (loci.SignedIn, error) {
	s.note("register", string(in.Email), string(in.Name), string(in.Ref), string(in.Invitation))
	if in.Email == "taken@example.com" {
		return loci.SignedIn{}, loci.Errorf(loci.CodeConflict, "There is an account with this address already.")
	}
	if in.Ref == "unknown" {
		return loci.SignedIn{}, loci.Errorf(loci.CodeForbidden, "Send the code of a referral link as ref.")
	}
	return signedIn(in.Email, "ann", true), nil
}

func (s *fakeService) SetUp(_ context.Context, _ *identity.Actor, in loci.SetUp) (loci.SignedIn, error) {
	s.note("setup", string(in.Email), in.Token)
	return signedIn(in.Email, "ann", true), s.CheckSetup(context.Background(), in.Token)
}

func (s *fakeService) CreateKey(_ context.Context, actor *identity.Actor, in loci.CreateKey) (loci.CreatedKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := strconv.Itoa(len(s.keys)) // without an idempotency key each call makes a key
	if actor.Idempotency != nil {
		sent = actor.Idempotency.Key
	}
	key := s.keys[sent]
	if key == "" {
		s.ran = append(s.ran, "key "+string(in.Name))
		key = loci.KeyPrefix + "number" + string(rune('0'+len(s.keys)))
		s.keys[sent] = key
	}
	return loci.CreatedKey{APIKey: key}, nil
}

// useUp fails for a token that was used before, or that begins with x.
func (s *fakeService) useUp(token string) error {
	err := s.checkLink(token)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.used[token] = true
	}
	return err
}

func (s *fakeService) checkLink(token string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used[token] || strings.HasPrefix(token, "x") {
		return loci.Errorf(loci.CodeNotFound, "The link was used, has expired or is not complete.")
	}
	return nil
}

func (s *fakeService) CheckVerifyLink(_ context.Context, token string) (loci.Email, error) {
	return "ann@example.com", s.checkLink(token)
}
func (s *fakeService) CheckResetLink(_ context.Context, token string) (loci.Email, error) {
	return "ann@example.com", s.checkLink(token)
}

func (s *fakeService) Verify(_ context.Context, _ *identity.Actor, in loci.VerifyAddress) (loci.Empty, error) {
	return loci.Empty{}, s.useUp(string(in.Token))
}

func (s *fakeService) Forgot(_ context.Context, _ *identity.Actor, in loci.ForgotPassword) (loci.Empty, error) {
	s.note("forgot", string(in.Email))
	return loci.Empty{}, nil
}

func (s *fakeService) Reset(_ context.Context, _ *identity.Actor, in loci.ResetPassword) (loci.Empty, error) {
	return loci.Empty{}, s.useUp(string(in.Token))
}

func (s *fakeService) SendAgain(context.Context, *identity.Actor, loci.Empty) (loci.Empty, error) {
	s.note("resend")
	return loci.Empty{}, nil
}

func (s *fakeService) Respond(_ context.Context, _ *identity.Actor,
	in loci.RespondInvitation) (out loci.OneInvitation, err error) {
	i, _, err := s.ViewInvitation(context.Background(), "", in.InvitationID, in.Token)
	if i.Status = loci.InvitationDeclined; in.Accept {
		i.Status = loci.InvitationAccepted
	}
	s.note("respond", string(i.Status))
	return loci.OneInvitation{Invitation: i}, err
}

// CheckSetup accepts the token abc-1_2.
func (s *fakeService) CheckSetup(_ context.Context, token string) error {
	if token != "abc-1_2" {
		return loci.Errorf(loci.CodeNotFound, "The link is used.")
	}
	return nil
}

func (s *fakeService) CheckRegistration(_ context.Context, ref loci.ReferralCode, i loci.InvitationToken) error {
	if s.shut || s.closed && ref == "" && i == "" {
		return loci.Errorf(loci.CodeForbidden, "Registration needs an invitation here.")
	}
	return nil
}

// CheckReferral knows the code "code". The address of a busy client has tried too many.
func (s *fakeService) CheckReferral(_ context.Context, code loci.ReferralCode, _ string) error {
	switch code {
	case "code":
		return nil
	case "busy":
		return &loci.Error{Code: loci.CodeRateLimited, Message: "Too many.", RetryAfter: 3 * time.Second}
	}
	return loci.Errorf(loci.CodeNotFound, "Nobody has the referral code of this link.")
}

func (s *fakeService) HasUsers(context.Context) (bool, error) { return !s.empty, nil }

func (s *fakeService) Pending(context.Context, *identity.Actor,
	loci.ListPendingInvitations) (loci.Invitations, error) {
	if s.invited == nil {
		return loci.Invitations{}, errors.New("a secret of ours")
	}
	return loci.Invitations{Invitations: s.invited}, nil
}

// ViewInvitation shows a few invitations to the holder of their token.
func (s *fakeService) ViewInvitation(_ context.Context, _, id loci.ID,
	token loci.InvitationToken) (i loci.Invitation, inviter string, err error) {
	status, known := map[string]loci.InvitationStatus{"1": loci.InvitationPending, "2": loci.InvitationPending,
		"3": loci.InvitationExpired, "4": loci.InvitationRevoked, "5": loci.InvitationAccepted}[string(id)]
	if !known || token != "abc" {
		return i, "", loci.NewError(loci.CodeNotFound)
	}
	email := "cid@example.com"
	if id == "2" {
		email = "ANN@example.com"
	}
	return loci.Invitation{ID: id, WorkspaceName: "<script>Team", Email: email, Role: loci.RoleMember,
		Status: status}, "<b>Ann", nil
}

func (s *fakeService) admit(_ context.Context, o *op.Op, c *op.Call) (*identity.Actor, error) {
	switch {
	case o.Access == op.Public:
		return &identity.Actor{}, nil
	case c.Credential == "":
		return nil, loci.NewError(loci.CodeMissingAPIKey)
	case c.Credential == "broken":
		return nil, errors.New("a secret of ours")
	case c.Credential == "busy":
		return nil, &loci.Error{Code: loci.CodeRateLimited, RetryAfter: 3 * time.Second}
	case c.Credential != "ann" || c.CredentialKind != identity.CredentialCookie:
		return nil, loci.NewError(loci.CodeInvalidKey)
	}
	return &identity.Actor{UserID: "ann", CredentialKind: identity.CredentialCookie, CredentialID: "sign-in"}, nil
}

func table() *op.Table {
	t := &op.Table{}
	op.Add(t, "account.me", "GET /v1/me", "Me.", op.Account, op.NoTool, (*fakeService).Me)
	op.Add(t, "account.verify", "POST /v1/me/verify", "Send.", op.Person, op.NoTool, (*fakeService).SendAgain)
	op.Add(t, "key.create", "POST /v1/keys", "Key.", op.Person, op.NoTool, (*fakeService).CreateKey, op.Creates)
	op.Add(t, "grant.list", "GET /v1/grants", "List.", op.Person, op.NoTool, (*fakeService).ListGrants)
	op.Add(t, "grant.revoke", "DELETE /v1/grants/{grantId}", "End.", op.Person, op.NoTool, (*fakeService).RevokeGrant)
	op.Add(t, "workspace.list", "GET /v1/workspaces", "List.", op.Account, op.NoTool, (*fakeService).ListWorkspaces)
	op.Add(t, "invitation.pending", "GET /v1/workspace-invitations", "Pending.", op.Account, op.NoTool,
		(*fakeService).Pending)
	op.Add(t, "invitation.respond", "POST /v1/workspace-invitations/{invitationId}/respond", "Answer.", op.Account,
		op.NoTool, (*fakeService).Respond)
	op.Add(t, "auth.login", "POST /v1/auth/login", "In.", op.Public, op.BrowserOnly, (*fakeService).Login, op.MayCreate)
	op.Add(t, "auth.logout", "POST /v1/auth/logout", "Out.", op.Account, op.BrowserOnly, (*fakeService).Logout)
	op.Add(t, "auth.register", "POST /v1/auth/register", "Register.", op.Public, op.BrowserOnly,
		(*fakeService).Register, op.MayCreate)
	op.Add(t, "auth.setup", "POST /v1/auth/setup", "Set up.", op.Public, op.BrowserOnly, (*fakeService).SetUp,
		op.MayCreate)
	op.Add(t, "auth.verify", "POST /v1/auth/verify", "Verify.", op.Public, op.NoTool, (*fakeService).Verify)
	op.Add(t, "auth.forgot", "POST /v1/auth/forgot", "Forgot.", op.Public, op.NoTool, (*fakeService).Forgot)
	op.Add(t, "auth.reset", "POST /v1/auth/reset", "Reset.", op.Public, op.NoTool, (*fakeService).Reset)
	return t
}

// A browser visits the pages of a fakeService.
type browser struct {
	*fakeService
	t      *testing.T
	url    string
	client *http.Client
	header http.Header // of each request
	log    *logtest.Buffer
}

func newBrowser(t *testing.T, mail bool) *browser {
	t.Helper()
	s := &fakeService{keys: map[string]string{}, used: map[string]bool{}}
	quiet, log := slog.New(slog.DiscardHandler), &logtest.Buffer{}
	host := &op.Host{Service: s, Admit: s.admit, Log: slog.New(slog.NewTextHandler(log, nil))}
	site := httpapi.Site{Origins: httpapi.NewOrigins("")}
	server := httptest.NewServer(rest.New(rest.Options{Table: table(), Host: host, Log: quiet, Site: site,
		ErrorPage: web.ErrorPage(site),
		ExtraRoutes: web.Routes(web.Options{Table: table(), Host: host, Service: s, Site: site, Mail: mail,
			Authorizer: &fakeAuthorizer{s}})}))
	t.Cleanup(server.Close)
	jar := testenv.Must(cookiejar.New(nil))(t)
	return &browser{s, t, server.URL, &http.Client{Transport: testenv.Transport, Jar: jar},
		http.Header{"Accept": {"text/html"}, "Origin": {server.URL}}, log}
}

// signIn gives the browser a cookie.
func (b *browser) signIn(secret string) {
	b.t.Helper()
	u := testenv.Must(url.Parse(b.url))(b.t)
	b.client.Jar.SetCookies(u, []*http.Cookie{{Name: "__Host-loci", Value: secret, Path: "/"}})
}

// An answer is the page at the end of redirects.
type answer struct {
	*http.Response
	at   string // path of the page
	raw  string
	text string // without HTML entities
}

func (b *browser) do(method, path, body string) answer {
	b.t.Helper()
	r := testenv.Must(http.NewRequestWithContext(b.t.Context(), method, b.url+path, strings.NewReader(body)))(b.t)
	r.Header = b.header.Clone()
	if method == http.MethodPost && r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res := testenv.Must(b.client.Do(r))(b.t)
	defer res.Body.Close()
	raw := testenv.Must(io.ReadAll(res.Body))(b.t)
	return answer{res, res.Request.URL.RequestURI(), string(raw), html.UnescapeString(string(raw))}
}

func (b *browser) get(path string) answer {
	b.t.Helper()
	return b.do(http.MethodGet, path, "")
}

// post sends a form with pairs of names and values, and an idempotency key.
func (b *browser) post(path string, pairs ...string) answer {
	b.t.Helper()
	form := url.Values{"idempotencyKey": {"k"}}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return b.do(http.MethodPost, path, form.Encode())
}

// expect reports an answer with another status, another place or without one of the texts.
func (a answer) expect(t *testing.T, status int, at string, texts ...string) {
	t.Helper()
	if a.StatusCode != status || a.at != at {
		t.Errorf("%d at %s, want %d at %s: %s", a.StatusCode, a.at, status, at, a.text)
		return
	}
	for _, text := range texts {
		testenv.Contains(t, a.text, text, at)
	}
}

// calls returns the operations that were run since the last time.
func (s *fakeService) calls() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := strings.Join(s.ran, "; ")
	s.ran = nil
	return out
}
