package loci

import "time"

// A Password is the secret with which a person signs in.
type Password string

// Rule requires 10 to 200 characters. The service refuses passwords that are guessed first.
func (Password) Rule() Rule {
	return Rule{MinLength: 10, MaxLength: 200, Format: "password",
		Description: "Neither common nor your address"}
}

// A PasswordAttempt is the password of a sign-in: any text of bounded length.
type PasswordAttempt string

// Rule bounds the work of an attempt.
func (PasswordAttempt) Rule() Rule { return Rule{MaxLength: 200, Format: "password"} }

// A User is a person with an account.
type User struct {
	ID            ID     `json:"id" jsonschema:"UUIDv7"`
	Email         string `json:"email"`
	Name          string `json:"name"`
	EmailVerified bool   `json:"emailVerified"`
	CreatedAt     Time   `json:"createdAt"`
	UpdatedAt     Time   `json:"updatedAt"`
}

// Register is the input of auth.register.
type Register struct {
	Email    Email        `json:"email"`
	Password Password     `json:"password"`
	Name     Name         `json:"name,omitzero" jsonschema:"Default: the local part of the address"`
	Ref      ReferralCode `json:"ref,omitzero" jsonschema:"The code of a referral link"`

	Invitation InvitationToken `json:"invitation,omitzero" jsonschema:"Token of the link that invited this address; it verifies the address"`
}

// SetUp is the input of auth.setup.
type SetUp struct {
	Token    string   `json:"token" jsonschema:"From the one-time setup link that the server prints"`
	Email    Email    `json:"email"`
	Password Password `json:"password"`
	Name     Name     `json:"name,omitzero" jsonschema:"Default: the local part of the address"`
}

// Login is the input of auth.login.
type Login struct {
	Email    Email           `json:"email"`
	Password PasswordAttempt `json:"password"`
}

// A LinkToken is the secret in the link of a mail. It can be used once.
type LinkToken string

// Rule bounds a LinkToken.
func (LinkToken) Rule() Rule { return Rule{MaxLength: 64} }

// VerifyAddress is the input of auth.verify.
type VerifyAddress struct {
	Token LinkToken `json:"token" jsonschema:"From the link of the mail"`
}

// ForgotPassword is the input of auth.forgot.
type ForgotPassword struct {
	Email Email `json:"email"`
}

// ResetPassword is the input of auth.reset.
type ResetPassword struct {
	Token    LinkToken `json:"token" jsonschema:"From the link of the mail"`
	Password Password  `json:"password"`
}

// OneUser is an output that holds a user.
type OneUser struct {
	User User `json:"user"`
}

// ETag identifies this representation of the user.
func (o OneUser) ETag() string { return entityTag(o.User.ID, o.User.UpdatedAt.String()) }

// UpdateAccount is the input of account.update.
type UpdateAccount struct {
	Name Name `json:"name" jsonschema:"The new name"`
}

// ChangePassword is the input of account.password.
type ChangePassword struct {
	CurrentPassword PasswordAttempt `json:"currentPassword"`
	NewPassword     Password        `json:"newPassword"`
}

// DeleteAccount is the input of account.delete.
type DeleteAccount struct {
	Password PasswordAttempt `json:"password" jsonschema:"The present password"`
}

// A BrowserSignIn is a browser that is signed in.
type BrowserSignIn struct {
	ID         ID     `json:"id" jsonschema:"UUIDv7"`
	UserAgent  string `json:"userAgent" jsonschema:"As the browser named itself at the sign-in"`
	Address    string `json:"address" jsonschema:"From which it signed in"`
	Current    bool   `json:"current" jsonschema:"The browser of this call"`
	CreatedAt  Time   `json:"createdAt"`
	UpdatedAt  Time   `json:"updatedAt" jsonschema:"Equals createdAt: use does not change a sign-in"`
	LastUsedAt Time   `json:"lastUsedAt"`
}

// ListSignIns is the input of signin.list.
type ListSignIns struct {
	Paging
}

// SignIns is a page of signed-in browsers, newest first.
type SignIns struct {
	SignIns []BrowserSignIn `json:"signIns" show:"columns=id userAgent:28 address current lastUsedAt"`
	Page
}

// RevokeSignIn is the input of signin.revoke.
type RevokeSignIn struct {
	SignInID ID `json:"signinId" id:"signin"`
}

// A SignIn is the secret of a signed-in browser. It travels in a cookie alone.
type SignIn struct {
	Secret string
	MaxAge time.Duration // 0 ends the session
}

// SignedIn is the output of an operation after which the caller is signed in.
type SignedIn struct {
	User User `json:"user"`

	Creation
	signIn SignIn
}

// NewSignedIn returns the response to a sign-in; created means that the account is new.
func NewSignedIn(u User, s SignIn, created bool) SignedIn {
	return SignedIn{u, Creation{!created}, s}
}

// Cookie returns the cookie to set.
func (s SignedIn) Cookie() SignIn { return s.signIn }

// SignedOut is the output of auth.logout.
type SignedOut struct{}

// Cookie returns the cookie that ends the session.
func (SignedOut) Cookie() SignIn { return SignIn{} }

// Prefixes of an API key, and of the access and the refresh token of an OAuth client.
const (
	KeyPrefix          = "loci_live_"
	AccessTokenPrefix  = "loci_oat_"
	RefreshTokenPrefix = "loci_ort_"
)

// An APIKey is a record of a key; the key itself is shown once, when it is made.
type APIKey struct {
	ID         ID     `json:"id" jsonschema:"UUIDv7"`
	Name       string `json:"name"`
	Prefix     string `json:"prefix" jsonschema:"The first 6 characters after loci_live_"`
	CreatedAt  Time   `json:"createdAt"`
	UpdatedAt  Time   `json:"updatedAt"`
	LastUsedAt Time   `json:"lastUsedAt,omitzero"`
	RevokedAt  Time   `json:"revokedAt,omitzero"`
}

// CreateKey is the input of key.create.
type CreateKey struct {
	Name Name `json:"name,omitzero" jsonschema:"Purpose; default: API key"`
}

// CreatedKey is the output of key.create.
type CreatedKey struct {
	Key    APIKey `json:"key"`
	APIKey string `json:"apiKey" jsonschema:"The key; it is shown once"`
}

// ListKeys is the input of key.list.
type ListKeys struct {
	Paging
}

// Keys is a page of keys, newest first.
type Keys struct {
	Keys []APIKey `json:"keys" show:"columns=id name:12 prefix lastUsedAt createdAt revokedAt"`
	Page
}

// RevokeKey is the input of key.revoke.
type RevokeKey struct {
	KeyID ID `json:"keyId" id:"key"`
}

// Unlimited replaces an absent limit: the largest integer that every JSON reader keeps exact.
const Unlimited = 1<<53 - 1

// A PlanName names a plan.
type PlanName string

// The plans.
const (
	PlanFree       PlanName = "free"
	PlanPro        PlanName = "pro"
	PlanSelfHosted PlanName = "selfhosted"
)

// Rule lists the plans.
func (PlanName) Rule() Rule { return Rule{Enum: enumValues(PlanFree, PlanPro, PlanSelfHosted)} }

// A Quota is the used and the greatest number of something.
type Quota struct {
	Used  int64 `json:"used"`
	Limit int64 `json:"limit" jsonschema:"9007199254740991 where the plan has no limit" show:"limit"`
}

// An OperationQuota is the number of operations used in the month, and its limit.
type OperationQuota struct {
	Used     int64 `json:"used"`
	Limit    int64 `json:"limit" jsonschema:"9007199254740991 where the plan has no limit" show:"limit"`
	ResetsAt Time  `json:"resetsAt"`
}

// A StorageQuota is the number of bytes stored, and its limit.
type StorageQuota struct {
	UsedBytes  int64 `json:"usedBytes"`
	LimitBytes int64 `json:"limitBytes" show:"limit"`
}

// Usage is what the caller uses.
type Usage struct {
	Operations OperationQuota `json:"operations"`
	Storage    StorageQuota   `json:"storage" jsonschema:"Content of the workspaces that you own"`
	Memories   int64          `json:"memories" jsonschema:"Memories of the workspaces that you own"`
}

// WorkspaceQuotas are the places that the caller owns.
type WorkspaceQuotas struct {
	Personal Quota `json:"personal"`
	Team     Quota `json:"team"`
	Atlases  Quota `json:"atlases"`
}

// Indexing counts the memories that wait for their vectors: until they have them, words alone find them.
type Indexing struct {
	Pending   int64  `json:"pending"`
	Failed    int64  `json:"failed" jsonschema:"Pending memories that failed; they are retried"`
	LastError string `json:"lastError,omitzero" jsonschema:"Reason of the last failure"`
}

// MaxWaiting is the number up to which waiting records are counted.
const MaxWaiting = 100

// Waiting counts what waits for an act of the caller.
type Waiting struct {
	Candidates  int64 `json:"candidates" jsonschema:"Pending candidates of your sessions; counted up to 100"`
	Invitations int64 `json:"invitations" jsonschema:"Invitations to you that are pending; counted up to 100"`
	Expiring    int64 `json:"expiring" jsonschema:"Active memories valid for at most 7 more days; counted up to 100"`
}

// ServiceState is the state of the server, as its own checks saw it last.
type ServiceState struct {
	Ready    bool     `json:"ready" jsonschema:"False while the server cannot answer all calls"`
	Problems []string `json:"problems" jsonschema:"What its operator must mend; empty if all works"`
}

// Totals count everything within the caller's reach.
type Totals struct {
	Workspaces int64 `json:"workspaces"`
	Atlases    int64 `json:"atlases"`
	Memories   int64 `json:"memories"`
}

// AccountStatus is the output of account.status.
type AccountStatus struct {
	Plan       PlanName        `json:"plan"`
	BasePlan   PlanName        `json:"basePlan"`
	Usage      Usage           `json:"usage"`
	Workspaces WorkspaceQuotas `json:"workspaces"`
	Indexing   Indexing        `json:"indexing" jsonschema:"Memories that wait for their vectors"`
	Waiting    Waiting         `json:"waiting" jsonschema:"What waits for you"`
	Service    ServiceState    `json:"service" jsonschema:"Whether the server works"`
	Totals     Totals          `json:"totals"`
}

// A Grant lets an OAuth client use some workspaces of a user, or with the scope account whatever the user may.
type Grant struct {
	ID           ID               `json:"id" jsonschema:"UUIDv7"`
	Client       GrantClient      `json:"client"`
	RedirectHost string           `json:"redirectHost" jsonschema:"Where the client received the grant"`
	Scope        string           `json:"scope"`
	Workspaces   []GrantWorkspace `json:"workspaces" jsonschema:"The only ones that the client reaches. Empty with the scope account, which reaches all"`
	CreatedAt    Time             `json:"createdAt"`
	UpdatedAt    Time             `json:"updatedAt" jsonschema:"When the client last got tokens"`
	LastUsedAt   Time             `json:"lastUsedAt,omitzero"`
	ExpiresAt    Time             `json:"expiresAt" jsonschema:"Unless the client refreshes its tokens before"`
}

// A GrantClient is the client of a grant, as it describes itself.
type GrantClient struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	URI  string `json:"uri,omitzero" jsonschema:"Home page"`
}

// A GrantWorkspace is a workspace that a grant reaches.
type GrantWorkspace struct {
	ID   ID     `json:"id"`
	Name string `json:"name"`
}

// ListGrants is the input of grant.list.
type ListGrants struct {
	Paging
}

// Grants is a page of grants, newest first.
type Grants struct {
	Grants []Grant `json:"grants" show:"columns=id client:16 workspaces:20 lastUsedAt createdAt expiresAt"`
	Page
}

// RevokeGrant is the input of grant.revoke.
type RevokeGrant struct {
	GrantID ID `json:"grantId" id:"grant"`
}
