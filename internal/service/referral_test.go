package service_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/purge"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// freePlan gives everybody the plan free, which a benefit lifts.
var freePlan = Options{Plan: identity.DefaultPlans[loci.PlanFree]}

// qualifying is a text of as many characters as a memory must have to activate a referral, and of more bytes.
var qualifying = loci.CreateMemory{Content: loci.Content(strings.Repeat("é", loci.MinQualifyingLength))}

func referralsOf(t *testing.T, w *World, caller Caller) loci.Referrals {
	t.Helper()
	return MustCall(t, w, caller, service.ReferralGet, loci.Empty{})
}

func benefitsOf(t *testing.T, w *World, caller Caller) []loci.Benefit {
	t.Helper()
	return MustCall(t, w, caller, service.BenefitList, loci.ListBenefits{}).Benefits
}

// referred registers an account with the referral code of ann.
func referred(t *testing.T, w *World, e loci.Email) loci.SignedIn {
	t.Helper()
	return testenv.Must(w.Service.Register(t.Context(), &identity.Actor{},
		loci.Register{Email: e, Password: password, Ref: referralsOf(t, w, CallerOwner).Code}))(t)
}

func createAs(t *testing.T, w *World, s loci.SignedIn, m loci.CreateMemory) {
	t.Helper()
	testenv.Must(callAs(t, w, s, service.MemoryCreate, m))(t)
}

// addBenefit gives ann a benefit.
func addBenefit(t *testing.T, w *World) loci.ID {
	t.Helper()
	email := loci.Email(fmt.Sprintf("friend%d@example.com", len(referralsOf(t, w, CallerOwner).Invitees)))
	friend := referred(t, w, email)
	testenv.Must(w.Service.VerifyUser(t.Context(), email))(t)
	createAs(t, w, friend, qualifying)
	return benefitsOf(t, w, CallerOwner)[0].ID
}

func TestReferralActivatesWithMemoryAfterVerification(t *testing.T) {
	t.Parallel()
	Each(t, freePlan, func(t *testing.T, w *World) {
		empty := referralsOf(t, w, CallerOwner)
		if empty.Code == "" || empty.Invitees == nil ||
			empty.URL != "http://localhost/register?ref="+string(empty.Code) {
			t.Fatalf("%+v", empty)
		}
		expect := func(status loci.ReferralStatus, counts loci.ReferralCounts, benefits int) {
			t.Helper()
			r := referralsOf(t, w, CallerOwner)
			if r.Code != empty.Code || r.Counts != counts || len(r.Invitees) != 1 || r.Invitees[0].Status != status ||
				r.Invitees[0].Email != "m***@e***.uk" || r.Invitees[0].JoinedAt == 0 {
				t.Errorf("%+v, want %s", r, status)
			}
			testenv.Len(t, benefitsOf(t, w, CallerOwner), benefits, "benefits of the referrer when", status)
		}
		max := referred(t, w, "max.power@example.co.uk")
		expect(loci.ReferralRegistered, loci.ReferralCounts{Registered: 1}, 0)
		early := &op.Call{Credential: max.Cookie().Secret, CredentialKind: identity.CredentialCookie,
			IdempotencyKey: "before", IdempotencyKeyCount: 1}
		testenv.Must(op.Do(t.Context(), w.Host, early, service.MemoryCreate, qualifying))(t)
		testenv.Must(w.Service.VerifyUser(t.Context(), "max.power@example.co.uk"))(t)
		expect(loci.ReferralVerified, loci.ReferralCounts{Registered: 1, Verified: 1}, 0)
		short := qualifying
		short.Content = short.Content[2:]
		createAs(t, w, max, short)
		returned := qualifying
		returned.OnDuplicate = loci.OnDuplicateReturn
		createAs(t, w, max, returned) // creates nothing
		expect(loci.ReferralVerified, loci.ReferralCounts{Registered: 1, Verified: 1}, 0)
		replayed := &op.Call{Credential: max.Cookie().Secret, CredentialKind: identity.CredentialCookie,
			IdempotencyKey: "before", IdempotencyKeyCount: 1}
		if _, err := op.Do(t.Context(), w.Host, replayed, service.MemoryCreate, qualifying); err != nil ||
			!replayed.Replayed {
			t.Fatalf("replayed %v, %v", replayed.Replayed, err)
		}
		expect(loci.ReferralVerified, loci.ReferralCounts{Registered: 1, Verified: 1}, 0)
		for range 2 {
			createAs(t, w, max, qualifying)
			expect(loci.ReferralActivated, loci.ReferralCounts{Registered: 1, Verified: 1, Activated: 1}, 1)
		}
		own, err := callAs(t, w, max, service.BenefitList, loci.ListBenefits{})
		if err != nil || len(own.Benefits) != 1 {
			t.Fatalf("%+v, %v", own, err)
		}
		if b := own.Benefits[0]; b.Kind != loci.BenefitPro || b.Days != 30 || b.Status != loci.BenefitAvailable ||
			b.BasePlan != loci.PlanFree || b.EffectivePlan != loci.PlanFree || b.ExpiresAt != 0 || b.CreatedAt == 0 {
			t.Errorf("%+v", b)
		}
	})
}

// A referral is verified by each way in which an address is.
func TestReferralIsVerifiedWithAddress(t *testing.T) {
	t.Parallel()
	for name, verify := range map[string]func(*testing.T, *World, loci.ReferralCode){
		"token at the registration": func(t *testing.T, w *World, code loci.ReferralCode) {
			made := MustCall(t, w, CallerOwner, service.InvitationCreate, invite(w, "max@example.com"))
			testenv.Must(w.Service.Register(t.Context(), &identity.Actor{},
				loci.Register{Email: "max@example.com", Password: password, Ref: code,
					Invitation: tokenOf(t, made.Invitations[0])}))(t)
		},
		"token in the answer": func(t *testing.T, w *World, _ loci.ReferralCode) {
			max := referred(t, w, "max@example.com")
			made := MustCall(t, w, CallerOwner, service.InvitationCreate, invite(w, "max@example.com"))
			answer := answerTo(made.Invitations[0].ID, false)
			answer.Token = tokenOf(t, made.Invitations[0])
			testenv.Must(callAs(t, w, max, service.InvitationRespond, answer))(t)
		},
		"operator": func(t *testing.T, w *World, _ loci.ReferralCode) {
			referred(t, w, "max@example.com")
			testenv.Must(w.Service.VerifyUser(t.Context(), "max@example.com"))(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := New(t, OpenSQLite, Options{})
			verify(t, w, referralsOf(t, w, CallerOwner).Code)
			r := referralsOf(t, w, CallerOwner)
			if r.Counts != (loci.ReferralCounts{Registered: 1, Verified: 1}) {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestLinksOfMailsVerifyReferrals(t *testing.T) {
	t.Parallel()
	eachMailWorld(t, Options{}, func(t *testing.T, w *World, b *mailbox, d storetest.Database) {
		referred(t, w, "max@example.com")
		_, verify := b.wait(t, "max@example.com", "/verify", 0)
		Expect(t, "a verification link", verifyBy(t, w, verify), "")
		referred(t, w, "pat@example.com")
		MustCall(t, w, CallerNobody, service.AuthForgot, loci.ForgotPassword{Email: "pat@example.com"})
		_, reset := b.wait(t, "pat@example.com", "/reset", 0)
		Expect(t, "a reset link", resetBy(t, w, reset, password), "")
		r := referralsOf(t, w, CallerOwner)
		if r.Counts != (loci.ReferralCounts{Registered: 2, Verified: 2}) {
			t.Errorf("%+v", r)
		}
		waitForJobs(t, d)
	})
}

func TestAliasIsNoReferral(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	for _, e := range []loci.Email{"ann+x@example.com", "ANN+b+c@Example.com"} {
		referred(t, w, e)
	}
	testenv.Must(w.Service.Register(t.Context(), &identity.Actor{},
		loci.Register{Email: "stranger@example.com", Password: password, Ref: "UNKNOWN"}))(t)
	taken := loci.Register{Email: "eve@example.com", Password: password, Ref: referralsOf(t, w, CallerOwner).Code}
	MustFail(t, w, CallerNobody, service.AuthRegister, taken, loci.CodeConflict)
	if r := referralsOf(t, w, CallerOwner); r.Counts != (loci.ReferralCounts{}) {
		t.Errorf("%+v", r)
	}
	referred(t, w, "anna+ann@example.com")
	referred(t, w, "ann+x@elsewhere.example.com")
	testenv.Equal(t, referralsOf(t, w, CallerOwner).Counts.Registered, 2)
}

func TestRegistrationAcceptsReferralCode(t *testing.T) {
	t.Parallel()
	const limit = 3
	w := New(t, OpenSQLite, Options{Registration: service.RegistrationInvited, SignInLimit: limit})
	in := loci.Register{Email: "max@example.com", Password: password, Ref: referralsOf(t, w, CallerOwner).Code}
	register := func(from string, in loci.Register) error {
		_, err := op.Do(t.Context(), w.Host, &op.Call{Address: from}, service.AuthRegister, in)
		return err
	}
	unknown := in
	for range limit {
		unknown.Ref = "UNKNOWN"
		Expect(t, "register", register("192.0.2.1", unknown), loci.CodeForbidden)
	}
	Expect(t, "codes can be guessed without a limit", register("192.0.2.1", in), loci.CodeRateLimited)
	Expect(t, "strangers use up the limit of an address", register("192.0.2.2", in), "")
	if r := referralsOf(t, w, CallerOwner); r.Counts != (loci.ReferralCounts{Registered: 1}) {
		t.Errorf("%+v", r)
	}
	testenv.Must(w.Service.SetDisabled(t.Context(), loci.Email(w.Ann.Email), true))(t)
	in.Email = "next@example.com"
	Expect(t, "the code of a disabled user", register("192.0.2.3", in), loci.CodeForbidden)
	w = New(t, OpenSQLite, Options{Registration: service.RegistrationClosed})
	in.Ref = referralsOf(t, w, CallerOwner).Code
	MustFail(t, w, CallerNobody, service.AuthRegister, in, loci.CodeForbidden)
}

// The page of a referral link looks its code up. Only unknown codes are counted.
func TestReferralCodeIsLookedUp(t *testing.T) {
	t.Parallel()
	const limit = 3
	Each(t, Options{SignInLimit: limit}, func(t *testing.T, w *World) {
		known, check := referralsOf(t, w, CallerOwner).Code, w.Service.CheckReferral
		for range 2 * limit {
			Expect(t, "a known code", check(t.Context(), known, "192.0.2.1"), "")
		}
		for _, unknown := range []loci.ReferralCode{"UNKNOWN", "", loci.ReferralCode(strings.Repeat("x", 1<<16))} {
			Expect(t, "an unknown code", check(t.Context(), unknown, "192.0.2.1"), loci.CodeNotFound)
		}
		Expect(t, "codes can be guessed without a limit", check(t.Context(), known, "192.0.2.1"), loci.CodeRateLimited)
		Expect(t, "a limit of one address", check(t.Context(), known, "192.0.2.2"), "")
	})
}

func TestBenefitLiftsPlanUntilItExpires(t *testing.T) {
	t.Parallel()
	Each(t, freePlan, func(t *testing.T, w *World) {
		first, second, spare := addBenefit(t, w), addBenefit(t, w), addBenefit(t, w)
		activate := func(id loci.ID) loci.Benefit {
			t.Helper()
			call := w.Call(CallerOwner)
			out := testenv.Must(op.Do(t.Context(), w.Host, call, service.BenefitActivate,
				loci.ActivateBenefit{BenefitID: id}))(t)
			testenv.Equal(t, call.Quota.Limit, identity.DefaultPlans[loci.PlanPro].Operations,
				"the answer tells the limit")
			return out.Benefit
		}
		refuse := func(caller Caller, id loci.ID, code loci.Code) {
			t.Helper()
			MustFail(t, w, caller, service.BenefitActivate, loci.ActivateBenefit{BenefitID: id}, code)
		}
		expectPlan := func(plan loci.PlanName) {
			t.Helper()
			s := MustCall(t, w, CallerOwner, service.AccountStatus, loci.Empty{})
			limits := identity.DefaultPlans[plan]
			if s.Plan != plan || s.BasePlan != loci.PlanFree || s.Usage.Operations.Limit != limits.Operations ||
				s.Workspaces.Atlases.Limit != limits.Atlases || s.Usage.Storage.LimitBytes != limits.Storage {
				t.Errorf("%+v, want %s", s, plan)
			}
		}
		expectPlan(loci.PlanFree)
		refuse(CallerAdmin, first, loci.CodeNotFound)
		b := activate(first)
		expectPlan(loci.PlanPro) // at once
		month := loci.Time((30 * 24 * time.Hour).Microseconds())
		if b.Status != loci.BenefitActive || b.BasePlan != loci.PlanFree || b.EffectivePlan != loci.PlanPro ||
			b.ExpiresAt < b.UpdatedAt+month || b.UpdatedAt <= b.CreatedAt {
			t.Errorf("%+v", b)
		}
		refuse(CallerOwner, first, loci.CodeStateConflict)
		testenv.Equal(t, activate(second).ExpiresAt, b.ExpiresAt+month, "after", b.ExpiresAt)
		testenv.Must(w.Service.SetPlan(t.Context(), loci.Email(w.Ann.Email), loci.PlanPro))(t)
		refuse(CallerOwner, spare, loci.CodeStateConflict)
		testenv.Must(w.Service.SetPlan(t.Context(), loci.Email(w.Ann.Email), ""))(t)

		statuses := func() (list []string) {
			for _, b := range benefitsOf(t, w, CallerOwner) {
				list = append(list, string(b.Status)+" "+string(b.EffectivePlan))
			}
			return list
		}
		for after, want := range map[time.Duration]string{
			30*24*time.Hour - time.Hour: "[available pro active pro active pro]",
			60*24*time.Hour - time.Hour: "[available pro active pro expired pro]",
			60 * 24 * time.Hour:         "[available free expired free expired free]",
		} {
			w.Clock.Advance(after)
			testenv.Equal(t, fmt.Sprint(statuses()), want, "after", after)
			w.Clock.Advance(-after)
		}
		w.Clock.Advance(60 * 24 * time.Hour)
		expectPlan(loci.PlanFree)
		refuse(CallerOwner, second, loci.CodeStateConflict)
		activate(spare)
		expectPlan(loci.PlanPro)
	})
}

// The counts of a referrer keep a deleted invitee. A deleted referrer takes the referral along.
func TestReferralsOutliveInvitees(t *testing.T) {
	t.Parallel()
	Each(t, freePlan, func(t *testing.T, w *World) {
		erase := func(e loci.Email) {
			t.Helper()
			testenv.Must(purge.New(w.Store).PurgeUser(t.Context(), e, true))(t)
		}
		addBenefit(t, w)
		late := referred(t, w, "late@example.com")
		testenv.Must(w.Service.VerifyUser(t.Context(), "late@example.com"))(t)
		erase("friend0@example.com")
		r := referralsOf(t, w, CallerOwner)
		if r.Counts != (loci.ReferralCounts{Registered: 2, Verified: 2, Activated: 1}) || len(r.Invitees) != 1 ||
			len(benefitsOf(t, w, CallerOwner)) != 1 {
			t.Errorf("%+v", r)
		}
		if _, err := callAs(t, w, late, service.AccountMe, loci.Empty{}); err != nil { // cached with an open referral
			t.Fatal(err)
		}
		for _, x := range MustCall(t, w, CallerOwner, service.WorkspaceList, loci.ListWorkspaces{}).Workspaces {
			if x.Kind == loci.WorkspaceTeam {
				testenv.Must(purge.New(w.Store).PurgeWorkspace(t.Context(), x.ID, true))(t)
			}
		}
		erase(loci.Email(w.Ann.Email))
		createAs(t, w, late, qualifying)
		own, err := callAs(t, w, late, service.BenefitList, loci.ListBenefits{})
		if err != nil || len(own.Benefits) != 0 {
			t.Errorf("%+v, %v", own, err)
		}
	})
}
