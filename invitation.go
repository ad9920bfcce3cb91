package loci

import (
	"cmp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// An Email is an e-mail address: local part, @, a host with a dot or a plain name.
type Email string

// MaxEmail is the longest address in bytes (RFC 5321, section 4.5.3.1.3, less the angle brackets).
const MaxEmail = 254

// Rule bounds an address; Valid checks its form.
func (Email) Rule() Rule { return Rule{MinLength: 3, MaxLength: MaxEmail, Format: "email"} }

// Valid reports whether a mail could be sent to e.
func (e Email) Valid() bool {
	local, host, ok := strings.Cut(string(e), "@")
	if !ok || local == "" || host == "" || len(e) > MaxEmail || strings.ContainsAny(host, "@_()[],;:\\\"<>/") ||
		!utf8.ValidString(string(e)) {
		return false
	}
	for _, r := range string(e) {
		if unicode.IsSpace(r) || unicode.IsControl(r) || !unicode.IsGraphic(r) ||
			strings.ContainsRune(`"(),:;<>[\]`, r) {
			return false
		}
	}
	for _, part := range append(strings.Split(host, "."), strings.Split(local, ".")...) {
		if part == "" || len(part) > 64 || part[0] == '-' && strings.Contains(host, part) {
			return false
		}
	}
	return true
}

// Fold returns the form in which addresses are compared: letter case does not count. A character that only looks like
// an ASCII letter, such as the dotless i, belongs to another mailbox.
func (e Email) Fold() string {
	return strings.Map(func(r rune) rune {
		if small := unicode.ToLower(unicode.ToUpper(r)); r < utf8.RuneSelf || small >= utf8.RuneSelf {
			return small
		}
		return r
	}, string(e))
}

// Emails are the addresses of one invitation request.
type Emails []Email

// Rule requires 1 to 100 addresses.
func (Emails) Rule() Rule { return Rule{MinItems: 1, MaxItems: 100} }

// An InvitedRole is the role that an invitation gives.
type InvitedRole string

// Rule lists the roles that an invitation gives.
func (InvitedRole) Rule() Rule {
	return Rule{Enum: enumValues(RoleAdmin, RoleMember), Default: "member"}
}

// RoleOrDefault returns the role, or member by default.
func (r InvitedRole) RoleOrDefault() Role { return cmp.Or(Role(r), RoleMember) }

// Days is a number of days.
type Days int

// Rule requires 1 to 30 days, and defaults to 7.
func (Days) Rule() Rule { return Rule{Min: 1, Max: 30, Default: 7} }

// Duration returns the length of the days.
func (d Days) Duration() time.Duration { return time.Duration(cmp.Or(d, 7)) * 24 * time.Hour }

// An InvitationStatus is the state of an invitation.
type InvitationStatus string

// The states of an invitation. Expired is never stored: it follows from the clock.
const (
	InvitationPending  InvitationStatus = "pending"
	InvitationAccepted InvitationStatus = "accepted"
	InvitationDeclined InvitationStatus = "declined"
	InvitationRevoked  InvitationStatus = "revoked"
	InvitationExpired  InvitationStatus = "expired"
)

// Rule lists the states.
func (InvitationStatus) Rule() Rule {
	return Rule{Enum: enumValues(InvitationPending, InvitationAccepted, InvitationDeclined, InvitationRevoked,
		InvitationExpired)}
}

// InvitationStates is the table of the states of an invitation, which accepts one response.
var InvitationStates = Machine[InvitationStatus]{"invitation", []Move[InvitationStatus]{
	{"accepted", []InvitationStatus{InvitationPending}, InvitationAccepted},
	{"declined", []InvitationStatus{InvitationPending}, InvitationDeclined},
	{"revoked", []InvitationStatus{InvitationPending}, InvitationRevoked},
}, map[InvitationStatus]string{
	InvitationAccepted: "It needs no further answer.", InvitationDeclined: "A new one is needed.",
	InvitationRevoked: "A new one is needed.", InvitationExpired: "A new one is needed.",
}}

// An Invitation invites a person into a workspace.
type Invitation struct {
	ID            ID               `json:"id" jsonschema:"UUIDv7"`
	WorkspaceID   ID               `json:"workspaceId" id:"workspace"`
	WorkspaceName string           `json:"workspaceName"`
	Email         string           `json:"email"`
	Role          Role             `json:"role"`
	Status        InvitationStatus `json:"status"`
	InvitedBy     ID               `json:"invitedBy" jsonschema:"The user who invites"`
	ExpiresAt     Time             `json:"expiresAt"`
	CreatedAt     Time             `json:"createdAt"`
	UpdatedAt     Time             `json:"updatedAt"`
}

// At returns the invitation at that time: a pending one may have expired.
func (i Invitation) At(now Time) Invitation {
	if i.Status == InvitationPending && i.ExpiresAt <= now {
		i.Status = InvitationExpired
	}
	return i
}

// CreateInvitations is the input of invitation.create.
type CreateInvitations struct {
	WorkspaceID   ID          `json:"workspaceId" id:"workspace"`
	Emails        Emails      `json:"emails" jsonschema:"Addresses to invite"`
	Role          InvitedRole `json:"role,omitzero" jsonschema:"Default: member"`
	ExpiresInDays Days        `json:"expiresInDays,omitzero" jsonschema:"Days until it expires"`
}

// Cost returns how many calls of the rate the invitations count as.
func (in CreateInvitations) Cost() int { return len(in.Emails) }

// A NewInvitation is an invitation in the response to its creation.
type NewInvitation struct {
	Invitation
	InviteURL string `json:"inviteUrl,omitzero" jsonschema:"Shown once; send it to the invited person only"`
}

// An InvitationToken is the secret in the link of an invitation.
type InvitationToken string

// Rule bounds an InvitationToken.
func (InvitationToken) Rule() Rule { return Rule{MaxLength: 64} }

// A SkipReason is the reason why an address was not invited.
type SkipReason string

// The reasons.
const (
	SkipAlreadyMember  SkipReason = "already_member"
	SkipAlreadyInvited SkipReason = "already_invited"
)

// Rule lists the reasons.
func (SkipReason) Rule() Rule { return Rule{Enum: enumValues(SkipAlreadyMember, SkipAlreadyInvited)} }

// A SkippedInvitation is an address that was not invited.
type SkippedInvitation struct {
	Email  string     `json:"email"`
	Reason SkipReason `json:"reason"`
}

// CreatedInvitations is the output of invitation.create.
type CreatedInvitations struct {
	Invitations []NewInvitation     `json:"invitations" show:"columns=id workspaceName:12 email! role status inviteUrl! expiresAt"`
	Skipped     []SkippedInvitation `json:"skipped" show:"columns=email:12 reason:12"`
}

// ListInvitations is the input of invitation.list.
type ListInvitations struct {
	WorkspaceID ID `json:"workspaceId" id:"workspace"`
	Paging
}

// ListPendingInvitations is the input of invitation.pending.
type ListPendingInvitations struct {
	Paging
}

// Invitations is a page of invitations, newest first.
type Invitations struct {
	Invitations []Invitation `json:"invitations" show:"columns=id workspaceName:12 email:12 role status inviter:12 expiresAt"`
	Page
}

// RespondInvitation is the input of invitation.respond.
type RespondInvitation struct {
	InvitationID ID        `json:"invitationId" id:"invitation"`
	Accept       bool      `json:"accept" jsonschema:"true accepts, false declines"`
	Confirm      Confirmed `json:"confirm"`

	Token InvitationToken `json:"token,omitzero" jsonschema:"Token of the link; verifies an address that is not verified"`
}

// RevokeInvitation is the input of invitation.revoke.
type RevokeInvitation struct {
	InvitationID ID        `json:"invitationId" id:"invitation"`
	Confirm      Confirmed `json:"confirm"`
}

// OneInvitation is an output that holds an invitation.
type OneInvitation struct {
	Invitation Invitation `json:"invitation"`
}
