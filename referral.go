package loci

import (
	"strings"
	"unicode/utf8"
)

// Referrals and benefits in numbers.
const (
	MinQualifyingLength = 40  // characters of the memory that activates a referral
	BenefitDays         = 30  // of the plan pro, for each side of a referral
	MaxShownInvitees    = 100 // the newest ones
)

// A ReferralCode identifies the referrer of a new user.
type ReferralCode string

// Rule bounds a ReferralCode.
func (ReferralCode) Rule() Rule { return Rule{MaxLength: 64} }

// A ReferralStatus is how far an invitee has come.
type ReferralStatus string

// The states of a referral. It is verified with the address of the invitee, and activated by a memory created after
// that.
const (
	ReferralRegistered ReferralStatus = "registered"
	ReferralVerified   ReferralStatus = "verified"
	ReferralActivated  ReferralStatus = "activated"
)

// Rule lists the states.
func (ReferralStatus) Rule() Rule {
	return Rule{Enum: enumValues(ReferralRegistered, ReferralVerified, ReferralActivated)}
}

// Referrals is the output of referral.get.
type Referrals struct {
	Code     ReferralCode   `json:"code"`
	URL      string         `json:"url" jsonschema:"Your referral link: the register page with the code"`
	Counts   ReferralCounts `json:"counts"`
	Invitees []Invitee      `json:"invitees" jsonschema:"The newest 100 who still have an account" show:"columns=email status joinedAt"`
}

// ReferralCounts count the invitees who came at least so far. Deleted accounts stay counted.
type ReferralCounts struct {
	Registered int64 `json:"registered"`
	Verified   int64 `json:"verified"`
	Activated  int64 `json:"activated"`
}

// An Invitee is a user who registered with a referral link.
type Invitee struct {
	Email    string         `json:"email" jsonschema:"Masked, such as a***@e***.com"`
	Status   ReferralStatus `json:"status"`
	JoinedAt Time           `json:"joinedAt"`
}

// Masked returns the first characters of the local part and the host, and the last label of the host.
func (e Email) Masked() string {
	local, host, _ := strings.Cut(string(e), "@")
	last := ""
	if i := strings.LastIndexByte(host, '.'); i >= 0 {
		last = host[i:]
	}
	return firstRune(local) + "***@" + firstRune(host) + "***" + last
}

func firstRune(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return s[:n]
}

// A BenefitKind is the effect of a benefit.
type BenefitKind string

// BenefitPro lifts the plan free to pro.
const BenefitPro BenefitKind = "pro"

// Rule lists the kinds.
func (BenefitKind) Rule() Rule { return Rule{Enum: enumValues(BenefitPro)} }

// A BenefitStatus is the state of a benefit.
type BenefitStatus string

// The states of a benefit. Expired is never stored: it follows from the clock.
const (
	BenefitAvailable BenefitStatus = "available"
	BenefitActive    BenefitStatus = "active"
	BenefitExpired   BenefitStatus = "expired"
)

// Rule lists the states.
func (BenefitStatus) Rule() Rule {
	return Rule{Enum: enumValues(BenefitAvailable, BenefitActive, BenefitExpired)}
}

// BenefitStates is the table of the states of a benefit, which is activated once.
var BenefitStates = Machine[BenefitStatus]{"benefit", []Move[BenefitStatus]{
	{"activated", []BenefitStatus{BenefitAvailable}, BenefitActive},
}, map[BenefitStatus]string{
	BenefitActive: "It ends at its expiresAt.", BenefitExpired: "Refer another person for a new one.",
}}

// A Benefit is a number of days of a larger plan, as the reward of a referral.
type Benefit struct {
	ID            ID            `json:"id" jsonschema:"UUIDv7"`
	Kind          BenefitKind   `json:"kind"`
	Days          int           `json:"days" jsonschema:"Days from its activation, or from the end of a running one"`
	Status        BenefitStatus `json:"status"`
	BasePlan      PlanName      `json:"basePlan" jsonschema:"Your plan without benefits"`
	EffectivePlan PlanName      `json:"effectivePlan" jsonschema:"Your plan now"`
	ExpiresAt     Time          `json:"expiresAt,omitzero" jsonschema:"Absent until it is activated"`
	CreatedAt     Time          `json:"createdAt"`
	UpdatedAt     Time          `json:"updatedAt"`
}

// ListBenefits is the input of benefit.list.
type ListBenefits struct {
	Paging
}

// Benefits is a page of benefits, newest first.
type Benefits struct {
	Benefits []Benefit `json:"benefits" show:"columns=id kind days status effectivePlan expiresAt"`
	Page
}

// ActivateBenefit is the input of benefit.activate.
type ActivateBenefit struct {
	BenefitID ID `json:"benefitId" id:"benefit"`
}

// OneBenefit is an output that holds a benefit.
type OneBenefit struct {
	Benefit Benefit `json:"benefit"`
}
