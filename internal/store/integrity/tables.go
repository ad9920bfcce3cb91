package integrity

// A Class is how a check treats the rows of a table.
type Class int

// Classes of tables.
const (
	Source    Class = iota // the only record of something: a damaged row is reported, and comes only from a backup
	Derived                // follows from source rows: compared with them, and rebuilt
	Transient              // work in progress, caches and counts that expire: not checked
)

// A Table is the class of a table, with the kind that rebuilds its rows if it is derived. The derived columns of a
// source table have kinds of their own. A title is derived only where its row says so.
type Table struct {
	Class   Class
	Kind    string
	Columns map[string]string
}

// Tables are all tables of the database.
var Tables = map[string]Table{
	"agents":      {Columns: map[string]string{"last_number": InconsistentMessages}},
	"atlases":     {Columns: map[string]string{"memories": InconsistentCounters, "bytes": InconsistentCounters}},
	"attachments": {Columns: map[string]string{"atlas": InconsistentAttachments}},
	"candidates": {Columns: map[string]string{"workspace": InconsistentSessions, "atlas": InconsistentSessions,
		"user_id": InconsistentSessions, "title": InconsistentSessions}},
	"grant_workspaces": {Columns: map[string]string{"user_id": InconsistentAccounts}},
	"invitations":      {Columns: map[string]string{"email_folded": InconsistentAccounts}},
	"memories": {Columns: map[string]string{"hash": InconsistentRows, "title": InconsistentRows,
		"supersedes": InconsistentLinks, "attachments": InconsistentAttachments}},
	"messages": {Columns: map[string]string{"thread_id": InconsistentMessages}},
	"receipts": {Columns: map[string]string{"workspace": InconsistentMessages}},
	"sessions": {Columns: map[string]string{"candidates": InconsistentSessions, "pending": InconsistentSessions,
		"checkpoints": InconsistentSessions, "units": InconsistentSessions, "events": InconsistentSessions,
		"audits": InconsistentSessions, "compilations": InconsistentSessions, "redactions": InconsistentSessions,
		"steps": InconsistentSessions, "has_texts": InconsistentSessions}},
	"users":    {Columns: map[string]string{"email_folded": InconsistentAccounts, "pro_until": InconsistentAccounts}},
	"api_keys": {}, "benefits": {}, "checkpoints": {}, "compilations": {}, "generations": {}, "grant_tokens": {},
	"grants": {}, "members": {}, "metadata": {}, "oauth_clients": {}, "policies": {}, "redaction_audits": {},
	"referrals": {}, "session_events": {}, "session_history": {}, "sync_pairs": {}, "units": {}, "versions": {},
	"workspaces": {},

	"index_log":       {Class: Derived, Kind: InconsistentIndex},
	"keyword_indexes": {Class: Derived, Kind: InconsistentIndex},
	"minhash_bands":   {Class: Derived, Kind: InconsistentBands},
	"segment_pages":   {Class: Derived, Kind: InconsistentIndex},
	"segments":        {Class: Derived, Kind: InconsistentIndex},
	"vectors":         {Class: Derived, Kind: InconsistentVectors},

	"changes": {Class: Transient}, "embedding_queue": {Class: Transient}, "idempotency_keys": {Class: Transient},
	"idempotency_records": {Class: Transient}, "jobs": {Class: Transient}, "mail_usage": {Class: Transient},
	"model_usage": {Class: Transient}, "oauth_codes": {Class: Transient}, "operations": {Class: Transient},
	"rate_limits": {Class: Transient}, "sign_ins": {Class: Transient}, "tokens": {Class: Transient},
}
