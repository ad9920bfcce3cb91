package service

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/service/cursor"
	"github.com/loci-memory/loci/internal/store"
)

// GetReferrals returns the actor's referral link and who registered with it. The first call makes the code.
func (s *Service) GetReferrals(ctx context.Context, actor *identity.Actor,
	_ loci.Empty) (out loci.Referrals, err error) {
	out, err = store.Read(ctx, s.Store, actor, (*store.Tx).Referrals)
	if err == nil && out.Code == "" {
		out.Code, err = inAccount(ctx, s, actor, (*store.Account).MakeReferralCode)
	}
	out.URL = s.PublicURL + "/register?ref=" + string(out.Code)
	return out, err
}

// ListBenefits lists the actor's benefits, newest first.
func (s *Service) ListBenefits(ctx context.Context, actor *identity.Actor,
	in loci.ListBenefits) (out loci.Benefits, err error) {
	out.Benefits, out.Page, err = cursor.ListPage(ctx, s.Store, actor, &in.Paging, &in,
		func(tx *store.Tx, p page.Request) (page.List[loci.Benefit], error) { return tx.Benefits(p) },
		func(b loci.Benefit) page.Key { return page.Key{At: b.CreatedAt, ID: b.ID} })
	return out, err
}

// ActivateBenefit lifts the actor's plan for the days of a benefit.
func (s *Service) ActivateBenefit(ctx context.Context, actor *identity.Actor,
	in loci.ActivateBenefit) (loci.OneBenefit, error) {
	return store.Write(ctx, s.Store, actor, func(tx *store.Tx) (out loci.OneBenefit, err error) {
		b, err := tx.Benefit(in.BenefitID)
		if err == nil {
			out.Benefit, err = b.Activate()
		}
		return out, err
	})
}
