package identity

import (
	"testing"

	"github.com/loci-memory/loci"
)

func TestBenefitRaisesSmallerPlan(t *testing.T) {
	t.Parallel()
	const now = 100
	for _, c := range []struct {
		server, own loci.PlanName
		proUntil    loci.Time
		want        loci.PlanName
	}{
		{loci.PlanFree, "", 0, loci.PlanFree},
		{loci.PlanFree, "", now, loci.PlanFree},
		{loci.PlanFree, "", now + 1, loci.PlanPro},
		{loci.PlanPro, loci.PlanFree, now + 1, loci.PlanPro},
		{"", "", now + 1, loci.PlanSelfHosted},
		{loci.PlanFree, loci.PlanSelfHosted, now + 1, loci.PlanSelfHosted},
	} {
		p := Plans{Default: c.server}
		if got := p.Effective(c.own, c.proUntil, now); got != DefaultPlans[c.want] {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}
