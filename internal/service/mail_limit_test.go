package service_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/mail"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// mailPlan has no limit but that of mails.
func mailPlan(mails int64) identity.Plan {
	p := identity.DefaultPlans[loci.PlanSelfHosted]
	p.Name, p.Mails = loci.PlanFree, mails
	return p
}

// guests returns n addresses.
func guests(name string, n int) (list loci.Emails) {
	for i := range n {
		list = append(list, loci.Email(fmt.Sprintf("%s%d@example.com", name, i)))
	}
	return list
}

func inviteTo(workspace loci.ID, emails loci.Emails) loci.CreateInvitations {
	return loci.CreateInvitations{WorkspaceID: workspace, Emails: emails}
}

// inviteWith invites with a key.
func inviteWith(t *testing.T, w *World, key string, in loci.CreateInvitations) (loci.CreatedInvitations, error) {
	t.Helper()
	return op.Do(t.Context(), w.Host, &op.Call{Credential: key, CredentialKind: identity.CredentialKey},
		service.InvitationCreate, in)
}

// count returns the only number of a query.
func count(t *testing.T, d storetest.Database, query string) string {
	t.Helper()
	return d.Query(t, `SELECT CAST(count(*) AS TEXT) FROM `+query)[0]
}

// toNoon advances the clock of a world to noon (UTC), so that no day ends during a test.
func toNoon(w *World) {
	now := w.Clock.Now().UTC()
	w.Clock.Advance(time.Date(now.Year(), now.Month(), now.Day()+1, 12, 0, 0, 0, time.UTC).Sub(now))
}

func TestUnverifiedSenderInvitesNobodyByMail(t *testing.T) {
	t.Parallel()
	eachMailWorld(t, Options{}, func(t *testing.T, w *World, b *mailbox, d storetest.Database) {
		pat := registered(t, w, "pat@example.com")
		_, token := b.wait(t, "pat@example.com", "/verify", 0)
		team := testenv.Must(callAs(t, w, pat, service.WorkspaceCreate, loci.CreateWorkspace{Name: "Crew"}))(t)
		in := inviteTo(team.Workspace.ID, guests("guest", 3))
		_, err := callAs(t, w, pat, service.InvitationCreate, in)
		Expect(t, "an invitation", err, loci.CodeForbidden)
		testenv.Contains(t, fmt.Sprint(err), "Verify your e-mail address first")
		MustFail(t, w, CallerMember, service.InvitationCreate, inviteTo(w.Team, guests("guest", 3)), loci.CodeForbidden)
		testenv.Equal(t, count(t, d, `invitations WHERE status = 'pending'`), "0", "invitations are stored")
		Expect(t, "the link", verifyBy(t, w, token), "")
		if out, err := callAs(t, w, pat, service.InvitationCreate, in); err != nil || len(out.Invitations) != 3 {
			t.Errorf("a verified sender: %+v, %v", out, err)
		}
		waitForJobs(t, d)
		testenv.Len(t, b.mails, 4, "mails")
	})
}

func TestServerWithoutMailLimitsNoSender(t *testing.T) {
	t.Parallel()
	Each(t, Options{Plan: mailPlan(1)}, func(t *testing.T, w *World) {
		pat := registered(t, w, "pat@example.com")
		team := testenv.Must(callAs(t, w, pat, service.WorkspaceCreate, loci.CreateWorkspace{Name: "Crew"}))(t)
		out, err := callAs(t, w, pat, service.InvitationCreate, inviteTo(team.Workspace.ID, guests("guest", 100)))
		if err != nil || len(out.Invitations) != 100 || out.Invitations[99].InviteURL == "" {
			t.Errorf("%d invitations, %v", len(out.Invitations), err)
		}
	})
}

// The mails that wait when their sender is disabled stay unsent, and so do those of earlier programs without a check.
func TestQueuedMailOfRefusedSenderIsNotSent(t *testing.T) {
	t.Parallel()
	for _, change := range []string{"disabled = TRUE", "verified = FALSE"} {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, d storetest.Database) {
				b := &mailbox{}
				w := New(t, d.Open, Options{SendMail: b.send})
				made := MustCall(t, w, CallerAdmin, service.InvitationCreate,
					inviteTo(w.Team, guests("refused", 2))).Invitations
				MustCall(t, w, CallerOwner, service.InvitationCreate, inviteTo(w.Team, guests("sent", 1)))
				d.Exec(t, `UPDATE users SET `+change+` WHERE id = '`+string(w.Bob.ID)+`'`)
				w.Store.Jobs().Start(context.WithoutCancel(t.Context()))
				waitForJobs(t, d)
				for _, m := range b.mails {
					if strings.HasPrefix(string(m.To), "refused") {
						t.Errorf("%s: a mail to %s was sent", change, m.To)
					}
				}
				b.wait(t, "sent0@example.com", "/invite", 0)
				testenv.Equal(t, count(t, d, `tokens WHERE invitation = '`+string(made[0].ID)+`'`), "0", change,
					"tokens")
			})
		})
	}
}

func TestMailsToOthersHaveDailyBudget(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		b := &mailbox{}
		w := New(t, d.Open, Options{Plan: mailPlan(10), SendMail: b.send})
		toNoon(w)
		first, second := w.NewTeam(t, w.Eve), w.NewTeam(t, w.Eve)
		other := testenv.Must(w.Service.AddKey(t.Context(), loci.Email(w.Eve.Email), "other"))(t).APIKey
		call := func(key string, workspace loci.ID, emails loci.Emails, want loci.Code) []loci.NewInvitation {
			t.Helper()
			out, err := inviteWith(t, w, key, inviteTo(workspace, emails))
			Expect(t, fmt.Sprint(emails), err, want)
			return out.Invitations
		}
		made := call(w.Eve.Key, first, guests("a", 6), "")
		call(w.Eve.Key, first, append(guests("a", 6), loci.Email(w.Eve.Email)), "") // skipped: they cost nothing
		call(other, second, guests("later", 5), loci.CodeQuotaExceeded)
		testenv.Equal(t, count(t, d, `invitations WHERE email LIKE 'later%'`), "0", "a refused call stored",
			"invitations")
		call(other, second, guests("later", 3), "")
		mustCallWith(t, w, w.Eve, service.InvitationRevoke,
			loci.RevokeInvitation{InvitationID: made[0].ID, Confirm: true})
		mustCallWith(t, w, w.Eve, service.WorkspaceDelete, loci.DeleteWorkspace{WorkspaceID: second})
		call(w.Eve.Key, first, guests("c", 2), loci.CodeQuotaExceeded)
		call(w.Eve.Key, first, append(guests("a", 6), guests("c", 1)...), loci.CodeQuotaExceeded) // a0 was revoked
		call(w.Eve.Key, first, guests("c", 1), "")
		_, err := inviteWith(t, w, other, inviteTo(first, guests("d", 1)))
		e := loci.AsError(err)
		if e.Code != loci.CodeQuotaExceeded || e.RetryAfter > 12*time.Hour || e.RetryAfter < 11*time.Hour ||
			!strings.Contains(e.Message, "10 addresses a day; 0 are left, and this call would use 1") ||
			!strings.Contains(e.Message, w.Clock.Now().UTC().AddDate(0, 0, 1).Format("2006-01-02")+" 00:00 UTC") {
			t.Errorf("%v after %v", err, e.RetryAfter)
		}
		if out, err := inviteWith(t, w, w.Fay.Key, inviteTo(w.NewTeam(t, w.Fay), guests("fay", 10))); err != nil {
			t.Errorf("another sender: %+v, %v", out, err)
		}
		w.Clock.Advance(e.RetryAfter)
		call(w.Eve.Key, first, guests("e", 10), "")
		testenv.Must(store.System(t.Context(), w.Store, "test", func(x *store.SystemTx) (loci.Empty, error) {
			return loci.Empty{}, x.DeletePastMails()
		}))(t)
		testenv.EqualSlices(t, d.Query(t, `SELECT user_id || ' ' || mails FROM mail_usage`),
			[]string{string(w.Eve.ID) + " 10"}, "the counts are")
	})
}

// mustCallWith runs an operation with the key of a person.
func mustCallWith[In, Out any](t *testing.T, w *World, p *Person, o op.TypedOp[In, Out], in In) Out {
	t.Helper()
	return testenv.Must(op.Do(t.Context(), w.Host, &op.Call{Credential: p.Key,
		CredentialKind: identity.CredentialKey}, o, in))(t)
}

// A narrowed token learns no figure of the workspaces that it does not reach.
func TestRefusalOfMailsTellsTokenNoFigures(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{Plan: mailPlan(7), SendMail: (&mailbox{}).send})
	in := inviteTo(w.Team, guests("guest", 8))
	full := MustFail(t, w, CallerOwner, service.InvitationCreate, in, loci.CodeQuotaExceeded)
	token := MustFail(t, w, CallerToken, service.InvitationCreate, in, loci.CodeQuotaExceeded)
	if !strings.Contains(full.Message, "are left") || strings.Contains(token.Message, "left") {
		t.Errorf("%q, %q", full.Message, token.Message)
	}
}

func TestPlansBoundMailsOfDay(t *testing.T) {
	t.Parallel()
	for name, want := range map[loci.PlanName]int{loci.PlanFree: 50, loci.PlanPro: 500, loci.PlanSelfHosted: 2000} {
		w := New(t, OpenSQLite, Options{Plan: identity.DefaultPlans[name], SendMail: (&mailbox{}).send})
		toNoon(w)
		team := w.NewTeam(t, w.Eve)
		for sent := 0; sent < want; sent += 50 {
			if sent > 0 && sent%200 == 0 {
				team = w.NewTeam(t, w.Eve)
			}
			if _, err := inviteWith(t, w, w.Eve.Key, inviteTo(team, guests(fmt.Sprint(sent, "-"), 50))); err != nil {
				t.Fatalf("%s: after %d mails: %v", name, sent, err)
			}
		}
		Expect(t, string(name), testenv.ErrorOf(inviteWith(t, w, w.Eve.Key,
			inviteTo(w.NewTeam(t, w.Eve), guests("more", 1)))), loci.CodeQuotaExceeded)
	}
}

func TestPendingInvitationsAreBounded(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{}, {SendMail: (&mailbox{}).send}} {
		t.Run(fmt.Sprint("mail: ", o.SendMail != nil), func(t *testing.T) {
			t.Parallel()
			Each(t, o, func(t *testing.T, w *World) {
				call := func(emails loci.Emails, want loci.Code) []loci.NewInvitation {
					t.Helper()
					out, err := inviteWith(t, w, w.Ann.Key, inviteTo(w.Team, emails))
					Expect(t, fmt.Sprint(len(emails), " invitations"), err, want)
					return out.Invitations
				}
				made := call(guests("a", 100), "")
				call(guests("b", 95), "")
				_, err := inviteWith(t, w, w.Ann.Key, inviteTo(w.Team, guests("c", 6)))
				if Expect(t, "too many", err, loci.CodeStateConflict); !strings.Contains(fmt.Sprint(err),
					"at most 200 pending invitations. This one has 195, and this call would add 6: revoke some") {
					t.Error(err)
				}
				call(guests("c", 5), "")
				call(guests("a", 100), "") // skipped
				call(guests("d", 1), loci.CodeStateConflict)
				mustCallWith(t, w, w.Ann, service.InvitationRevoke,
					loci.RevokeInvitation{InvitationID: made[0].ID, Confirm: true})
				call(guests("d", 1), "")
				call(guests("e", 1), loci.CodeStateConflict)
				if _, err := inviteWith(t, w, w.Ann.Key, inviteTo(w.NewTeam(t, w.Ann), guests("e", 1))); err != nil {
					t.Errorf("another workspace: %v", err)
				}
				w.Clock.Advance(7 * 24 * time.Hour) // they expire
				call(guests("f", 100), "")
			})
		})
	}
}

// Of many calls at once as many succeed as the limits permit.
func TestConcurrentInvitationsKeepLimits(t *testing.T) {
	t.Parallel()
	for name, mails := range map[string]int64{"pending": 2000, "budget": 95} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, d storetest.Database) {
				w := New(t, d.Open, Options{Plan: mailPlan(mails), SendMail: (&mailbox{}).send})
				toNoon(w)
				teams, want, refusal := []loci.ID{w.NewTeam(t, w.Eve)}, 20, loci.CodeStateConflict
				if name == "budget" {
					teams = append(teams, w.NewTeam(t, w.Eve), w.NewTeam(t, w.Eve))
					want, refusal = 9, loci.CodeQuotaExceeded
				}
				SucceedAtOnce(t, 30, want, refusal, func(i int) error {
					return testenv.ErrorOf(inviteWith(t, w, w.Eve.Key,
						inviteTo(teams[i%len(teams)], guests(fmt.Sprint(i, "-"), 10))))
				})
				sent, pending := d.Query(t,
					`SELECT CAST(mails AS TEXT) FROM mail_usage WHERE user_id = '`+string(w.Eve.ID)+`'`),
					count(t, d, `invitations WHERE status = 'pending'`)
				if all := fmt.Sprint(10 * want); !slices.Equal(sent, []string{all}) || pending != all {
					t.Errorf("%s mails were counted, %s invitations are pending", sent, pending)
				}
			})
		})
	}
}

// A sender with hundreds of mails delays one of another sender by a few.
func TestSendersOfMailsTakeTurns(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		b := &mailbox{}
		w := New(t, d.Open, Options{SendMail: b.send})
		team := w.NewTeam(t, w.Fay)
		for i := range 2 {
			testenv.Must(inviteWith(t, w, w.Fay.Key, inviteTo(team, guests(fmt.Sprint("spam", i), 100))))(t)
		}
		testenv.Must(inviteWith(t, w, w.Eve.Key, inviteTo(w.NewTeam(t, w.Eve), guests("honest", 1))))(t)
		w.Store.Jobs().Start(context.WithoutCancel(t.Context()))
		waitForJobs(t, d)
		if at := slices.IndexFunc(b.mails, func(m mail.Message) bool {
			return m.To == "honest0@example.com"
		}); at < 0 || at > 3 { // behind the mails of ann, fay and eve
			t.Errorf("the mail of another sender left as number %d of %d", at, len(b.mails))
		}
	})
}
