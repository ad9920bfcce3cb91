package service_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/mail"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/waittest"
)

// A mailbox records the mails of a world. It may refuse them.
type mailbox struct {
	mu     sync.Mutex
	mails  []mail.Message
	refuse error
}

func (b *mailbox) send(_ context.Context, m mail.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refuse == nil {
		b.mails = append(b.mails, m)
	}
	return b.refuse
}

// eachMailWorld runs f in a world with mail on every engine. Its jobs run as on a server.
func eachMailWorld(t *testing.T, o Options, f func(t *testing.T, w *World, b *mailbox, d storetest.Database)) {
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		b := &mailbox{}
		o := o
		o.SendMail = b.send
		w := New(t, d.Open, o)
		w.Store.Jobs().Start(context.WithoutCancel(t.Context()))
		f(t, w, b, d)
	})
}

// wait returns the n-th link of the mails to an address, and its token. Path is that of the page.
func (b *mailbox) wait(t *testing.T, to, path string, n int) (link, token string) {
	t.Helper()
	var links []string
	waittest.Until(t, func() bool {
		links = nil
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, m := range b.mails {
			if string(m.To) == to && strings.HasPrefix(m.Link, "http://localhost"+path+"?") {
				links = append(links, m.Link)
			}
		}
		return len(links) > n
	})
	return links[n], testenv.Must(url.Parse(links[n]))(t).Query().Get("token")
}

// waitForJobs waits until no job is left.
func waitForJobs(t *testing.T, d storetest.Database) {
	t.Helper()
	waittest.Until(t, func() bool { return d.Query(t, `SELECT CAST(count(*) AS TEXT) FROM jobs`)[0] == "0" })
}

func verifyBy(t *testing.T, w *World, token string) error {
	t.Helper()
	return Try(t, w, CallerNobody, service.AuthVerify, loci.VerifyAddress{Token: loci.LinkToken(token)})
}

func resetBy(t *testing.T, w *World, token string, p loci.Password) error {
	t.Helper()
	return Try(t, w, CallerNobody, service.AuthReset, loci.ResetPassword{Token: loci.LinkToken(token), Password: p})
}

func TestLinkOfMailVerifiesAddressOnce(t *testing.T) {
	t.Parallel()
	eachMailWorld(t, Options{}, func(t *testing.T, w *World, b *mailbox, d storetest.Database) {
		pat := registered(t, w, "pat@example.com")
		verified := func() bool {
			me, err := callAs(t, w, pat, service.AccountMe, loci.Empty{})
			return err == nil && me.User.EmailVerified
		}
		_, first := b.wait(t, "pat@example.com", "/verify", 0)
		if _, err := callAs(t, w, pat, service.AccountVerify, loci.Empty{}); err != nil || verified() {
			t.Fatal(err)
		}
		_, second := b.wait(t, "pat@example.com", "/verify", 1)
		want := []string{string(identity.SecretHash(first)), string(identity.SecretHash(second))}
		slices.Sort(want)
		testenv.EqualSlices(t, d.Query(t, `SELECT hash FROM tokens ORDER BY hash`), want, "the database has",
			"the hashes")
		Expect(t, "a verification link as a reset link", resetBy(t, w, first, password), loci.CodeNotFound)
		Expect(t, "the first link", verifyBy(t, w, first), "")
		if !verified() {
			t.Error("the address is not verified")
		}
		unknown := loci.AsError(verifyBy(t, w, "unknown"))
		for _, dead := range []string{first, second, ""} {
			if e := loci.AsError(verifyBy(t, w, dead)); e.Code != loci.CodeNotFound || e.Message != unknown.Message {
				t.Errorf("%q: %v", dead, e)
			}
		}
		Expect(t, "a mail to a verified address",
			testenv.ErrorOf(callAs(t, w, pat, service.AccountVerify, loci.Empty{})), loci.CodeStateConflict)
		registered(t, w, "late@example.com")
		_, late := b.wait(t, "late@example.com", "/verify", 0)
		w.Clock.Advance(24 * time.Hour)
		Expect(t, "a link after a day", verifyBy(t, w, late), loci.CodeNotFound)
		waitForJobs(t, d)
	})
}

func TestResetEndsSignInsAndVerifies(t *testing.T) {
	t.Parallel()
	eachMailWorld(t, Options{}, func(t *testing.T, w *World, b *mailbox, d storetest.Database) {
		pat := registered(t, w, "pat@example.com") // perhaps by another person
		stranger := testenv.Must(callAs(t, w, pat, service.KeyCreate, loci.CreateKey{}))(t)
		me := func(key string) (loci.OneUser, error) {
			return op.Do(t.Context(), w.Host, &op.Call{Credential: key, CredentialKind: identity.CredentialKey},
				service.AccountMe, loci.Empty{})
		}
		forgot := func(e loci.Email) {
			MustCall(t, w, CallerNobody, service.AuthForgot, loci.ForgotPassword{Email: e})
		}
		forgot("PAT@example.com")
		_, first := b.wait(t, "pat@example.com", "/reset", 0)
		forgot("pat@example.com")
		_, second := b.wait(t, "pat@example.com", "/reset", 1)
		Expect(t, "a reset link as a verification link", verifyBy(t, w, first), loci.CodeNotFound)
		Expect(t, "the first link", resetBy(t, w, first, "battery staple"), "")
		for _, dead := range []string{first, second, "unknown"} {
			Expect(t, "a used link", resetBy(t, w, dead, "tr0ub4dor and 3"), loci.CodeNotFound)
		}
		Expect(t, "the browser", testenv.ErrorOf(callAs(t, w, pat, service.AccountMe, loci.Empty{})),
			loci.CodeInvalidKey)
		_, err := me(stranger.APIKey)
		Expect(t, "a key from before the address was verified", err, loci.CodeRevoked)
		login := func(p loci.PasswordAttempt) error {
			return Try(t, w, CallerNobody, service.AuthLogin, loci.Login{Email: "pat@example.com", Password: p})
		}
		Expect(t, "the former password", login(password), loci.CodeInvalidKey)
		Expect(t, "the new password", login("battery staple"), "")
		key := testenv.Must(w.Service.AddKey(t.Context(), "pat@example.com", ""))(t)
		forgot("pat@example.com")
		_, third := b.wait(t, "pat@example.com", "/reset", 2)
		Expect(t, "another link", resetBy(t, w, third, "battery staple"), "")
		if by, err := me(key.APIKey); err != nil || !by.User.EmailVerified {
			t.Errorf("by the key of a verified user: %+v, %v", by, err)
		}
		forgot("pat@example.com")
		_, late := b.wait(t, "pat@example.com", "/reset", 3)
		w.Clock.Advance(time.Hour)
		Expect(t, "a link after an hour", resetBy(t, w, late, password), loci.CodeNotFound)
		waitForJobs(t, d)
	})
}

// A link that was asked for before the password was changed would undo the change.
func TestPasswordChangeEndsResetLinks(t *testing.T) {
	t.Parallel()
	eachMailWorld(t, Options{}, func(t *testing.T, w *World, b *mailbox, _ storetest.Database) {
		pat := registered(t, w, "pat@example.com")
		MustCall(t, w, CallerNobody, service.AuthForgot, loci.ForgotPassword{Email: "pat@example.com"})
		_, token := b.wait(t, "pat@example.com", "/reset", 0)
		testenv.Must(callAs(t, w, pat, service.AccountPassword,
			loci.ChangePassword{CurrentPassword: password, NewPassword: "battery staple"}))(t)
		Expect(t, "the link", resetBy(t, w, token, "tr0ub4dor and 3"), loci.CodeNotFound)
	})
}

// Of many uses of the links of one user, one succeeds.
func TestConcurrentResetsUseOneLink(t *testing.T) {
	t.Parallel()
	eachMailWorld(t, Options{}, func(t *testing.T, w *World, _ *mailbox, _ storetest.Database) {
		links := make([]service.ResetLink, 3)
		for i := range links {
			links[i] = testenv.Must(w.Service.MakeResetLink(t.Context(), "ann@example.com"))(t)
		}
		SucceedAtOnce(t, 12, 1, loci.CodeNotFound, func(i int) error {
			_, token, _ := strings.Cut(links[i%3].URL, "token=")
			return resetBy(t, w, token, loci.Password(fmt.Sprintf("battery staple %d", i)))
		})
	})
}

// TestForgotKeepsOwnerOfKnownNetwork uses up the requests for an address from other networks. Failed sign-ins and
// invitations are counted apart from them.
func TestForgotKeepsOwnerOfKnownNetwork(t *testing.T) {
	t.Parallel()
	eachMailWorld(t, Options{SignInLimit: 2}, func(t *testing.T, w *World, _ *mailbox, d storetest.Database) {
		forgot := func(address string, want loci.Code) {
			t.Helper()
			_, err := op.Do(t.Context(), w.Host, &op.Call{Address: address}, service.AuthForgot,
				loci.ForgotPassword{Email: "ada@example.com"})
			Expect(t, address, err, want)
		}
		testenv.Must(w.Service.AddUser(t.Context(), "ada@example.com", "", "correct horse battery"))(t)
		testenv.NoError(t, signIn(t, w, "192.0.2.1", "ada@example.com", "correct horse battery"))
		for i := range 2 {
			Expect(t, "guess", signIn(t, w, "203.0.113.1", "ada@example.com", "wrong guess"), loci.CodeInvalidKey)
			forgot(fmt.Sprintf("198.51.100.%d", i), "")
		}
		forgot("198.51.100.9", loci.CodeRateLimited)
		forgot("192.0.2.1", "")
		forgot("192.0.2.1", "")
		forgot("192.0.2.1", loci.CodeRateLimited) // mails to one address stay bounded
	})
}

// The answer, the limit and the job do not tell whether an address has an account.
func TestForgotIsAlikeForEveryAddress(t *testing.T) {
	t.Parallel()
	eachMailWorld(t, Options{SignInLimit: 3}, func(t *testing.T, w *World, b *mailbox, d storetest.Database) {
		for i, e := range []loci.Email{"ann@example.com", "nobody@example.com"} {
			for n := range 4 {
				_, err := op.Do(t.Context(), w.Host, &op.Call{Address: fmt.Sprintf("192.0.2.%d", 10*i+n)},
					service.AuthForgot, loci.ForgotPassword{Email: e})
				want := loci.Code("")
				if n == 3 {
					want = loci.CodeRateLimited
				}
				Expect(t, string(e), err, want)
			}
		}
		waitForJobs(t, d)
		b.wait(t, "ann@example.com", "/reset", 2)
		testenv.Len(t, b.mails, 3, "mails")
		for n := range 4 { // of one network
			_, err := op.Do(t.Context(), w.Host, &op.Call{Address: "192.0.2.99"}, service.AuthForgot,
				loci.ForgotPassword{Email: loci.Email(fmt.Sprintf("somebody%d@example.com", n))})
			if limited := loci.Is(err, loci.CodeRateLimited); limited != (n == 3) {
				t.Error(n, err)
			}
			err = func() error {
				_, err := op.Do(t.Context(), w.Host, &op.Call{Address: "192.0.2.99"}, service.AuthVerify,
					loci.VerifyAddress{Token: "guess"})
				return err
			}()
			if limited := loci.Is(err, loci.CodeRateLimited); limited != (n == 3) {
				t.Error(n, err)
			}
		}
	})
}

func TestServerWithoutMailMakesNoLinks(t *testing.T) {
	t.Parallel()
	EachWithDB(t, func(t *testing.T, w *World, d storetest.Database) {
		pat := registered(t, w, "pat@example.com")
		known := MustFail(t, w, CallerNobody, service.AuthForgot, loci.ForgotPassword{Email: "pat@example.com"},
			loci.CodeStateConflict)
		unknown := MustFail(t, w, CallerNobody, service.AuthForgot, loci.ForgotPassword{Email: "nobody@example.com"},
			loci.CodeStateConflict)
		testenv.Equal(t, known.Message, unknown.Message)
		Expect(t, "a verification mail", testenv.ErrorOf(callAs(t, w, pat, service.AccountVerify, loci.Empty{})),
			loci.CodeStateConflict)
		testenv.Equal(t, d.Query(t, `SELECT CAST((SELECT count(*) FROM jobs) + (SELECT count(*) FROM tokens
			WHERE user_id IS NOT NULL) AS TEXT)`)[0], "0", "jobs and tokens")
	})
}

func TestInvitationTravelsByMailAlone(t *testing.T) {
	t.Parallel()
	o := Options{Registration: service.RegistrationInvited}
	eachMailWorld(t, o, func(t *testing.T, w *World, b *mailbox, d storetest.Database) {
		made := MustCall(t, w, CallerOwner, service.InvitationCreate,
			invite(w, "guest@example.com", "other@example.com")).Invitations
		if len(made) != 2 || made[0].InviteURL+made[1].InviteURL != "" {
			t.Fatalf("%+v", made)
		}
		link, token := b.wait(t, "guest@example.com", "/invite", 0)
		testenv.Contains(t, link, "id="+string(made[0].ID))
		// A job that ran on a killed server runs again.
		testenv.Must(store.System(t.Context(), w.Store, "test", func(x *store.SystemTx) (loci.Empty, error) {
			return loci.Empty{}, x.AddJob("mail_invitation", made[0].ID)
		}))(t)
		_, second := b.wait(t, "guest@example.com", "/invite", 1)
		for _, live := range []string{token, second} {
			if i, inviter, err := w.Service.ViewInvitation(t.Context(), "", made[0].ID,
				loci.InvitationToken(live)); err != nil || inviter != "ann" || i.WorkspaceName != "Crew" {
				t.Errorf("%+v %q %v", i, inviter, err)
			}
		}
		guest := testenv.Must(w.Service.Register(t.Context(), &identity.Actor{}, loci.Register{
			Email: "guest@example.com", Password: password, Invitation: loci.InvitationToken(token)}))(t)
		testenv.Must(callAs(t, w, guest, service.InvitationRespond, answerTo(made[0].ID, true)))(t)
		b.wait(t, "other@example.com", "/invite", 0)
		revoke := loci.RevokeInvitation{InvitationID: made[1].ID, Confirm: true}
		MustCall(t, w, CallerOwner, service.InvitationRevoke, revoke)
		testenv.Must(store.System(t.Context(), w.Store, "test", func(x *store.SystemTx) (loci.Empty, error) {
			return loci.Empty{}, x.AddJob("mail_invitation", made[1].ID)
		}))(t)
		waitForJobs(t, d)
		testenv.Len(t, b.mails, 3, "mails: an account that is verified, or a revoked invitation got one")
		testenv.Len(t, tokenHashes(t, d), 0, "tokens of ended invitations")
	})
}

// Nobody floods the mailbox of another person with invitations that are revoked and made again.
func TestInvitationMailsToAddressAreLimited(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{SignInLimit: 3, SendMail: (&mailbox{}).send})
	create := func(c Caller, code loci.Code, in loci.CreateInvitations) []loci.NewInvitation {
		t.Helper()
		out, err := op.Do(t.Context(), w.Host, w.Call(c), service.InvitationCreate, in)
		Expect(t, fmt.Sprint(c, " invites ", in.Emails), err, code)
		if wait := loci.AsError(err); code != "" && wait.RetryAfter <= 0 {
			t.Error("no Retry-After")
		}
		return out.Invitations
	}
	target := invite(w, "Target@example.com")
	for sent := range 3 {
		made := create(CallerOwner, "", target)[0]
		for range 3 * (2 - sent) {
			create(CallerOwner, "", target) // skipped: it sends no mail
		}
		MustCall(t, w, CallerOwner, service.InvitationRevoke,
			loci.RevokeInvitation{InvitationID: made.ID, Confirm: true})
	}
	both := invite(w, "other@example.com", "target@EXAMPLE.com")
	create(CallerAdmin, loci.CodeRateLimited, both)
	both.WorkspaceID = w.NewTeam(t, w.Eve)
	create(CallerStranger, loci.CodeRateLimited, both)
	create(CallerStranger, "",
		loci.CreateInvitations{WorkspaceID: both.WorkspaceID, Emails: loci.Emails{"other@example.com"}})
	w.Clock.Advance(15 * time.Minute)
	create(CallerStranger, "",
		loci.CreateInvitations{WorkspaceID: both.WorkspaceID, Emails: loci.Emails{"target@example.com"}})
}

// A refused mail is dropped. Another failure is retried until it succeeds, for some days.
func TestMailIsRetriedUnlessRefused(t *testing.T) {
	t.Parallel()
	eachMailWorld(t, Options{}, func(t *testing.T, w *World, b *mailbox, d storetest.Database) {
		fail := func(err error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.refuse = err
		}
		waitForError := func(want string) {
			t.Helper()
			waittest.Until(t, func() bool { return slices.Contains(d.Query(t, `SELECT error FROM jobs`), want) })
		}
		fail(&mail.RefusedError{Err: errors.New("no such mailbox")})
		registered(t, w, "typo@example.com")
		waitForJobs(t, d)
		fail(errors.New("the server is away"))
		registered(t, w, "pat@example.com")
		waitForError("the server is away")
		fail(nil)
		w.Clock.Advance(10 * time.Second)
		_, token := b.wait(t, "pat@example.com", "/verify", 0)
		Expect(t, "the link", verifyBy(t, w, token), "")
		waitForJobs(t, d)
		fail(errors.New("the server is away"))
		registered(t, w, "never@example.com")
		waitForError("the server is away")
		w.Clock.Advance(6 * 24 * time.Hour)
		waitForJobs(t, d)
		testenv.Len(t, b.mails, 1, "mails")
	})
}

// A sign-in whose password was compared before a reset does not survive it.
func TestSignInWithFormerPasswordIsRefused(t *testing.T) {
	t.Parallel()
	Each(t, Options{}, func(t *testing.T, w *World) {
		Expect(t, "the sign-in",
			testenv.ErrorOf(store.System(t.Context(), w.Store, "test", func(x *store.SystemTx) (loci.Empty, error) {
				return loci.Empty{}, x.AddSignIn(w.Ann.ID, accountdb.NewSignIn{Hash: []byte("browser"),
					Password: "the former hash"})
			})), loci.CodeNotFound)
	})
}
