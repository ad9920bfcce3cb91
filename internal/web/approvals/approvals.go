// Package approvals is the group of pages on which people judge what agents propose, and set what agents notice.
package approvals

import (
	"cmp"
	"embed"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/web"
)

//go:embed *.html
var files embed.FS

// Paths of the places.
const (
	queuePath   = "/app/approvals"
	sessionPath = "/app/sessions"
)

const (
	candidatePath = queuePath + "/{sessionId}/{candidateId}"
	oneSession    = sessionPath + "/{sessionId}"
)

// queueParams are the fields of the address of the queue. The last two tell what was just decided.
var queueParams = []string{"scope", "workspace_id", "cursor", "candidate", "last", "failed"}

var candidateReads = []string{"session.get", "workspace.get", "memory.get", "member.list"}

// Pages are the pages of the group.
var Pages = web.Group(files,
	web.Page{Path: queuePath, Template: "queue", Title: "Approvals", Place: queuePath, Params: queueParams,
		Reads: append(candidateReads, "session.candidates"), Read: readQueue, Notices: notices},
	web.Page{Path: queuePath + "/moderate", Template: "queue", Title: "Approvals", Place: queuePath,
		Params: queueParams, Op: "session.review", FormOnly: true, Read: readQueue, Done: reviewed},

	web.Page{Path: candidatePath, Template: "candidate", Title: "Candidate", Place: queuePath, Params: []string{"last"},
		Reads: append(candidateReads, "session.candidates"), Read: readCandidate, Notices: notices},
	web.Page{Path: candidatePath + "/moderate", Template: "candidate", Title: "Candidate", Place: queuePath,
		Op: "session.moderate", FormOnly: true, Read: readCandidate, Args: moderateArgs, Done: moderated},
	web.Page{Path: candidatePath + "/edit", Template: "candidate", Title: "Candidate", Place: queuePath,
		Params: []string{"keep"}, Op: "session.edit", FormOnly: true, MaxForm: maxForm, Read: readCandidate,
		Args: editArgs, Done: edited},

	web.Page{Path: sessionPath, Template: "sessions", Title: "Sessions", Place: sessionPath, Params: sessionParams,
		Reads: []string{"session.list", "workspace.list", "member.list"}, Read: readSessions},
	web.Page{Path: oneSession, Template: "session", Title: "Session", Place: sessionPath, Reads: candidateReads,
		Read: readSession, Notices: sessionNotices},
	web.Page{Path: oneSession + "/archive", Template: "session", Title: "Session", Place: sessionPath,
		Op: "session.archive", FormOnly: true, Read: readSession, Done: web.Back("archived")},
	web.Page{Path: oneSession + "/restore", Template: "session", Title: "Session", Place: sessionPath,
		Op: "session.archive", FormOnly: true, Read: readSession, Args: restoreArgs, Done: web.Back("restored")},
	web.Page{Path: oneSession + "/revert", Template: "session", Title: "Session", Place: sessionPath,
		Op: "session.revert", FormOnly: true, Read: readSession, Done: web.Back("back")},

	web.Page{Path: "/app/automatic", Template: "automatic", Title: "Automatic memory", Place: "/app/automatic",
		Params: []string{"workspace_id"}, Reads: []string{"auto.get", "workspace.list", "atlas.list"}, Op: "auto.set",
		Read: readAutomatic, Resubmit: unchanged, Args: policyArgs, Done: policySet, Notices: policyNotices},
	web.Page{Path: "/app/automatic/pause", Template: "automatic", Title: "Automatic memory", Place: "/app/automatic",
		Op: "auto.set", FormOnly: true, Read: readAutomatic, Resubmit: unchanged, Args: policyArgs, Done: policySet},
)

// maxForm is the most bytes of a form with the text of a candidate, each byte of which may take three.
const maxForm = 4 * 32 << 10

var notices = map[string]string{
	"kept":      "Kept: it is a memory now.",
	"replaced":  "Kept, and the old memory replaced.",
	"dismissed": "Dismissed.",
	"back":      "Taken back. A dismissed one waits again; the memory of a kept one is archived.",
	"saved":     "Saved. It still waits.",
	"failed":    "None of them could be decided: somebody else did, or their session is archived.",
}

var sessionNotices = map[string]string{
	"archived": "Archived. Its candidates cannot be decided until you restore it.",
	"restored": "Restored.",
	"back":     "Taken back: the memory of this session is archived.",
}

var policyNotices = map[string]string{
	"saved":   "Saved. It holds from the next event on.",
	"paused":  "Paused. Nothing is noticed until you go on.",
	"resumed": "It goes on.",
}

// adapterWords are the programs of adapters.
var adapterWords = map[loci.Adapter]string{"acp": "An editor by ACP", "workbuddy": "WorkBuddy",
	"opencode": "opencode", "pi": "Pi", "codex": "Codex", "claude": "Claude Code"}

// program returns the name of the program that kept a session.
func program(s loci.Session) string {
	return cmp.Or(s.SourceName, adapterWords[s.Adapter], map[bool]string{true: "An agent"}[s.AgentID != ""])
}
