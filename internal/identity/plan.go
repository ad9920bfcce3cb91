package identity

import (
	"time"

	"github.com/loci-memory/loci"
)

// A Plan holds the limits of an account.
type Plan struct {
	Name       loci.PlanName
	Operations int64 // a calendar month (UTC)
	Storage    int64 // bytes
	Teams      int64 // team workspaces that the account owns
	Atlases    int64 // atlases of workspaces that the account owns
}

// Plans holds the default limits of every plan.
var Plans = map[loci.PlanName]Plan{
	loci.PlanFree:       {loci.PlanFree, 10_000, 1 << 30, 3, 20},
	loci.PlanPro:        {loci.PlanPro, 1_000_000, 50 << 30, 50, 1_000},
	loci.PlanSelfHosted: {loci.PlanSelfHosted, loci.Unlimited, loci.Unlimited, loci.Unlimited, loci.Unlimited},
}

// MonthEnd returns the end of the calendar month of now (UTC), when the quota of operations is reset.
func MonthEnd(now time.Time) time.Time {
	now = now.UTC()
	return time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC)
}
