package loci

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
	Limit int64 `json:"limit" jsonschema:"9007199254740991 where the plan has no limit"`
}

// An OperationQuota is the number of operations used in the month, and its limit.
type OperationQuota struct {
	Used     int64 `json:"used"`
	Limit    int64 `json:"limit" jsonschema:"9007199254740991 where the plan has no limit"`
	ResetsAt Time  `json:"resetsAt"`
}

// A StorageQuota is the number of bytes stored, and its limit.
type StorageQuota struct {
	UsedBytes  int64 `json:"usedBytes"`
	LimitBytes int64 `json:"limitBytes"`
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
	Candidates int64 `json:"candidates" jsonschema:"Pending candidates of your sessions; counted up to 100"`
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
	Totals     Totals          `json:"totals"`
}
