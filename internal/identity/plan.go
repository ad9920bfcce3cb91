package identity

import (
	"cmp"
	"time"

	"github.com/loci-memory/loci"
)

// A Plan holds the limits of a user.
type Plan struct {
	Name       loci.PlanName
	Operations int64 // a calendar month (UTC)
	Storage    int64 // bytes of the workspaces that the user owns
	Teams      int64 // team workspaces that the user owns
	Atlases    int64 // atlases of workspaces that the user owns
	Mails      int64 // a day (UTC) to other people
}

// DefaultPlans holds the default limits of every plan.
var DefaultPlans = map[loci.PlanName]Plan{
	loci.PlanFree:       {loci.PlanFree, 10_000, 1 << 30, 3, 20, 50},
	loci.PlanPro:        {loci.PlanPro, 1_000_000, 50 << 30, 50, 1_000, 500},
	loci.PlanSelfHosted: {loci.PlanSelfHosted, loci.Unlimited, loci.Unlimited, loci.Unlimited, loci.Unlimited, 2_000},
}

// Plans are the plans of a server. The zero value gives every user the plan selfhosted.
type Plans struct {
	Default loci.PlanName          // of users without a plan of their own
	Limits  map[loci.PlanName]Plan // other limits than the default ones
}

// Of returns a plan by its name, and the default plan for an empty name.
func (p Plans) Of(name loci.PlanName) Plan {
	name = cmp.Or(name, p.Default, loci.PlanSelfHosted)
	if limits, ok := p.Limits[name]; ok {
		return limits
	}
	return DefaultPlans[name]
}

// Effective returns the larger one of a user's base plan and pro, while a benefit gives that.
func (p Plans) Effective(own loci.PlanName, proUntil, now loci.Time) Plan {
	base := p.Of(own)
	if base.Name == loci.PlanFree && proUntil > now {
		return p.Of(loci.PlanPro)
	}
	return base
}

// Month returns the name of the calendar month of now (UTC), such as 2026-11.
func Month(now time.Time) string { return now.UTC().Format("2006-01") }

// MonthEnd returns the end of the calendar month of now (UTC), when the quota of operations is reset.
func MonthEnd(now time.Time) time.Time {
	now = now.UTC()
	return time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC)
}
