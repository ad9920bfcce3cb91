package conformance_test

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/testenv"
)

// referralFixtures are the fixtures of referrals and benefits.
var referralFixtures = map[string]fixture{
	service.ReferralGet.Name: {needs: accountAccess, server: true, args: noArgs},
	service.BenefitList.Name: {
		needs:  accountAccess,
		server: true,
		args: func(s testScene) args {
			ctx, ann := s.t.Context(), s.Ann.Actor()
			if len(testenv.Must(s.Service.ListBenefits(ctx, ann, loci.ListBenefits{}))(s.t).Benefits) == 0 {
				s.benefit()
			}
			return args{"limit": 1}
		},
		refusals: []refusal{badCursor(nil)},
	},
	service.BenefitActivate.Name: {
		needs:  ownerOfRecord,
		server: true,
		args:   func(s testScene) args { return args{"benefitId": s.benefit()} },
		names:  []string{"benefitId"},
		refusals: []refusal{{name: "active benefit", code: loci.CodeStateConflict, args: func(s testScene) args {
			id := s.benefit()
			testenv.Must(s.Service.ActivateBenefit(s.t.Context(), s.Ann.Actor(),
				loci.ActivateBenefit{BenefitID: id}))(s.t)
			return args{"benefitId": id}
		}}},
	},
}

// benefit gives ann the plan free, and refers a person for her. It returns the id of her new benefit.
func (s testScene) benefit() loci.ID {
	ctx, ann := s.t.Context(), s.Ann.Actor()
	testenv.Must(s.Service.SetPlan(ctx, loci.Email(s.Ann.Email), loci.PlanFree))(s.t)
	code := testenv.Must(s.Service.GetReferrals(ctx, ann, loci.Empty{}))(s.t).Code
	testenv.Must(store.System(ctx, s.Store, "test", func(t *store.SystemTx) (none loci.Empty, err error) {
		u, err := t.AddUser(accountdb.NewUser{Email: loci.Email(uniqueText("friend") + "@example.com"), Verified: true,
			Ref: code})
		if err != nil {
			return none, err
		}
		return none, t.ActivateReferral(u.ID)
	}))(s.t)
	// By the host, so that the credential is cached when statements are counted.
	return testenv.Must(op.Do(ctx, s.Host, s.Call(conformance.CallerOwner), service.BenefitList,
		loci.ListBenefits{}))(s.t).Benefits[0].ID
}
