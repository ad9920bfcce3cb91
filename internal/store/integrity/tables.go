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
// source table have kinds of their own.
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
		"user_id": InconsistentSessions}},
	"memories": {Columns: map[string]string{"hash": InconsistentRows}},
	"messages": {}, "sessions": {},
	"receipts": {Columns: map[string]string{"workspace": InconsistentMessages}},
	"api_keys": {}, "benefits": {}, "checkpoints": {}, "compilations": {}, "generations": {}, "grant_tokens": {},
	"grant_workspaces": {}, "grants": {}, "invitations": {}, "members": {}, "metadata": {}, "oauth_clients": {},
	"policies": {}, "redaction_audits": {}, "referrals": {}, "session_events": {}, "session_history": {},
	"sync_pairs": {}, "units": {}, "users": {}, "versions": {}, "workspaces": {},

	"index_log":       {Class: Derived, Kind: InconsistentIndex},
	"keyword_indexes": {Class: Derived, Kind: InconsistentIndex},
	"minhash_bands":   {Class: Derived, Kind: InconsistentBands},
	"segment_pages":   {Class: Derived, Kind: InconsistentIndex},
	"segments":        {Class: Derived, Kind: InconsistentIndex},
	"vectors":         {Class: Derived, Kind: InconsistentVectors},

	"embedding_queue": {Class: Transient}, "idempotency_keys": {Class: Transient},
	"idempotency_records": {Class: Transient}, "jobs": {Class: Transient}, "mail_usage": {Class: Transient},
	"model_usage": {Class: Transient}, "oauth_codes": {Class: Transient}, "operations": {Class: Transient},
	"rate_limits": {Class: Transient}, "sign_ins": {Class: Transient}, "tokens": {Class: Transient},
}
