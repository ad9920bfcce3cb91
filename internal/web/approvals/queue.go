package approvals

import (
	"slices"
	"strconv"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/web"
)

// A queue is what the page of the candidates that wait shows.
type queue struct {
	Rows    []row
	Detail  *detail // of the chosen one
	Managed bool    // of all members, as a manager
	Later   bool    // the page is not the first one
	Next    string  // address of the next page
	undo
}

// Kept are the fields of the address that the next page has too.
func (*queue) Kept() []string { return queueParams[:3] }

// A row is a candidate in the queue.
type row struct {
	loci.Candidate
	Kind, Path     string
	Chosen, Opened bool // it is shown beside the queue; a link led to it
}

// An undo says what was just decided.
type undo struct {
	Last   []string // candidates that can be taken back
	Failed int      // how many could not be decided
	Stay   string   // address of the page, without what was decided
}

// readUndo reads from the address what was just decided.
func readUndo(v *web.Visit) (u undo) {
	for id := range strings.SplitSeq(v.Values["last"], ",") {
		if v.Notice != "" && loci.ID(id).Valid() && len(u.Last) < 100 {
			u.Last = append(u.Last, id)
		}
	}
	u.Failed, _ = strconv.Atoi(v.Values["failed"])
	return u
}

// readQueue reads the candidates that wait, and the chosen one with what is beside it.
func readQueue(v *web.Visit) error {
	q := &queue{Managed: v.Values["scope"] == string(loci.ScopeManaged), Later: v.Values["cursor"] != "",
		undo: readUndo(v)}
	list, err := web.Read[loci.Candidates](v, "session.candidates", "status", string(loci.CandidatePending),
		"scope", v.Values["scope"], "workspace_id", v.Values["workspace_id"], "cursor", v.Values["cursor"],
		"limit", "30")
	if err != nil {
		return err
	}
	if v.FieldErrors["candidateIds"] != "" {
		v.FieldErrors["candidateIds"] = "Mark the candidates first."
	}
	address := func(pairs ...string) string { return v.LinkTo(queuePath, queueParams[:3], pairs...) }
	chosen := max(0, slices.IndexFunc(list.Candidates, func(c loci.Candidate) bool {
		return string(c.ID) == v.Values["candidate"]
	}))
	for i, c := range list.Candidates {
		q.Rows = append(q.Rows, row{Candidate: c, Kind: web.TypeWords[c.Type], Path: address("candidate", string(c.ID)),
			Chosen: i == chosen, Opened: i == chosen && (v.Values["candidate"] != "" || v.Notice != "")})
	}
	q.Stay = address()
	if list.NextCursor != "" {
		q.Next = address("cursor", list.NextCursor)
	}
	v.Data = q
	if len(q.Rows) == 0 {
		return nil
	}
	after := q.Stay
	if rest := slices.Delete(slices.Clone(q.Rows), chosen, chosen+1); len(rest) > 0 {
		after = rest[min(chosen, len(rest)-1)].Path
	}
	q.Detail, err = readDetail(v, &q.Rows[chosen].Candidate, after)
	return err
}

// dids are what was done, by action.
var dids = map[string]string{string(loci.ModerationCompile): "kept", "supersede": "replaced",
	string(loci.ModerationDismiss): "dismissed", string(loci.ModerationRevert): "back"}

// reviewed sends the browser on after a decision on several candidates.
func reviewed(v *web.Visit, out any) error {
	action, failed, done := v.Form.Get("action"), 0, []string{}
	for _, r := range out.(loci.ModerationResults).Results {
		if r.OK {
			done = append(done, string(r.ID))
		} else {
			failed++
		}
	}
	did := dids[action]
	if len(done) == 0 {
		did = "failed"
	}
	if action == string(loci.ModerationRevert) && len(done) == 1 {
		goOn(v, did, "candidate", done[0]) // a dismissed one waits again
		return nil
	}
	if action == string(loci.ModerationRevert) {
		done = nil
	}
	rest := ""
	if failed > 0 {
		rest = strconv.Itoa(failed)
	}
	goOn(v, did, "last", strings.Join(done, ","), "failed", rest)
	return nil
}
