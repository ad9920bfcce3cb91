package approvals

import (
	"errors"
	"html/template"
	"net/url"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/web"
	"github.com/loci-memory/loci/internal/web/markdown"
)

// A candidate is what the page of one shows.
type candidate struct {
	Detail *detail
	undo
}

// A detail is a candidate with its session, and a memory to compare it with.
type detail struct {
	loci.Candidate
	Path, Kind, State string
	HTML              template.HTML
	Session           loci.Session
	Program, Person   string
	Atlas, Workspace  string
	Old               *loci.Memory // the one that it replaces, or the most similar one
	Become            *loci.Memory // the one that it became
	Start             string       // of the old memory
	Types             []web.Choice
	Next              string // address of the page after a decision

	// The decisions that the operations accept.
	Keep, Replace, Dismiss, TakeBack, Edit bool
}

// stateWords are the states of candidates as pages say them.
var stateWords = map[loci.CandidateStatus]string{loci.CandidatePending: "Waits", loci.CandidateCompiled: "Kept",
	loci.CandidateDismissed: "Dismissed", loci.CandidateReverted: "Taken back"}

// readCandidate reads what the page of a candidate shows.
func readCandidate(v *web.Visit) error {
	d, err := readDetail(v, nil, "")
	if errors.Is(err, errNotListed) && v.Notice != "" {
		for did, notice := range notices {
			if notice == v.Notice {
				v.Redirect(queuePath, did)
			}
		}
		return nil
	}
	if err == nil {
		v.Title = d.Title
		v.Data = &candidate{d, readUndo(v)}
	}
	return err
}

// readDetail reads a candidate with what is beside it. Without one it is that of the path.
func readDetail(v *web.Visit, c *loci.Candidate, next string) (d *detail, err error) {
	session := v.PathValue("sessionId")
	if c != nil {
		session = string(c.SessionID)
	}
	s, err := web.Read[loci.SessionDetail](v, "session.get", "sessionId", session, "max_tokens", "1")
	if err != nil {
		return nil, err
	}
	hasNames := c == nil // the queue has no room for them, nor has the page of an old candidate
	if c == nil {
		is := func(c loci.Candidate) bool { return string(c.ID) == v.PathValue("candidateId") }
		i := slices.IndexFunc(s.Candidates, is)
		if i < 0 && len(s.Candidates) == loci.MaxShownParts {
			hasNames = false
			if s.Candidates, err = pending(v, s.Session); err != nil {
				return nil, err
			}
			i = slices.IndexFunc(s.Candidates, is)
		}
		if i < 0 {
			return nil, errNotListed
		}
		c = &s.Candidates[i]
	}
	space, err := web.Read[loci.WorkspaceActivity](v, "workspace.get", "workspaceId", string(s.Session.WorkspaceID))
	if err != nil {
		return nil, err
	}
	d = &detail{Candidate: *c, Path: queuePath + "/" + string(c.SessionID) + "/" + string(c.ID), Next: next,
		Kind: web.TypeWords[c.Type], State: stateWords[c.Status], HTML: markdown.HTML(c.Content), Session: s.Session,
		Program: program(s.Session), Workspace: space.Workspace.Name}
	d.Types = web.TypeChoices(string(c.Type))
	members := loci.ID("")
	if hasNames && s.Session.UserID != v.User.ID {
		members = s.Session.WorkspaceID
	}
	d.Person = web.ReadNames(v, members).Of(s.Session.UserID)
	open := !s.Session.Archived && space.Workspace.Status == loci.ContainerActive
	if a := s.Context.Atlas; a != nil {
		d.Atlas, open = a.Name, open && a.Status == loci.ContainerActive
	}
	readBeside(v, d)
	if open {
		d.allow(v.User.ID, space.Workspace.Role)
	}
	return d, nil
}

// errNotListed is the error of a candidate that is not among those of its session that can be read.
var errNotListed = loci.NewError(loci.CodeNotFound)

// pending returns the newest candidates of a session that wait. session.get has the newest of all states.
func pending(v *web.Visit, s loci.Session) ([]loci.Candidate, error) {
	scope := ""
	if s.UserID != v.User.ID {
		scope = string(loci.ScopeManaged)
	}
	list, err := web.Read[loci.Candidates](v, "session.candidates", "session_id", string(s.ID), "status",
		string(loci.CandidatePending), "scope", scope, "include", "archived", "limit", "100")
	return list.Candidates, err
}

// maxStart is how many bytes of the old memory the page shows.
const maxStart = 1500

// readBeside reads the memory that a candidate became, or the one to compare it with. Without it the page is shown too.
func readBeside(v *web.Visit, d *detail) {
	id, place := d.MemoryID, &d.Become
	if d.Status == loci.CandidatePending {
		if id, place = d.Replaces, &d.Old; id == "" && len(d.Similar) > 0 {
			id = d.Similar[0].MemoryID
		}
	}
	if id == "" {
		return
	}
	m, err := web.Read[loci.MemoryDetail](v, "memory.get", "memoryId", string(id))
	if err != nil {
		return
	}
	*place = &m.Memory
	if d.Start = m.Content; len(d.Start) > maxStart {
		d.Start = strings.ToValidUTF8(d.Start[:maxStart], "") + "…"
	}
}

// allow notes the decisions that the state of an open candidate and the role of a user allow.
func (d *detail) allow(user loci.ID, role loci.Role) {
	movable := d.Become == nil || d.Become.Status != loci.MemorySuperseded
	switch d.Status {
	case loci.CandidatePending:
		d.Keep, d.Dismiss, d.Edit = true, true, true
		d.Replace = d.Old != nil && d.Old.Status == loci.MemoryActive && d.Old.AtlasID == d.Session.AtlasID &&
			(d.Old.CreatedBy == user || role != loci.RoleMember)
	case loci.CandidateReverted:
		d.Keep = movable
	case loci.CandidateCompiled:
		d.TakeBack = movable
	case loci.CandidateDismissed:
		d.TakeBack = true
	}
}

// moderateArgs makes the action of a decision: keeping replaces no memory, unless the person says so.
func moderateArgs(v *web.Visit, args *op.Args) error {
	action := v.Form.Get("action")
	if action != "supersede" {
		args.Params = slices.DeleteFunc(args.Params, func(p op.Param) bool { return p.Name == "supersede" })
	}
	switch action {
	case "supersede":
		for i := range args.Params {
			if args.Params[i].Name == "action" {
				args.Params[i].Value = string(loci.ModerationCompile)
			}
		}
	case string(loci.ModerationCompile):
		args.JSON = []byte(`{"supersede":null}`)
	}
	return nil
}

// moderated sends the browser on after a decision.
func moderated(v *web.Visit, _ any) error {
	action := v.Form.Get("action")
	last := v.PathValue("candidateId")
	if action == string(loci.ModerationRevert) {
		last = ""
	}
	goOn(v, dids[action], "last", last)
	return nil
}

// goOn sends the browser to the next candidate, or to the page that sent the form.
func goOn(v *web.Visit, did string, pairs ...string) {
	next := v.Next
	if next == "/" {
		next = queuePath
		if id := v.PathValue("candidateId"); id != "" {
			next += "/" + v.PathValue("sessionId") + "/" + id
		}
	}
	u, err := url.Parse(next)
	if err != nil {
		u = &url.URL{Path: queuePath}
	}
	query := u.Query()
	for pair := range slices.Chunk(append(pairs, "did", did), 2) {
		if query.Set(pair[0], pair[1]); pair[1] == "" {
			query.Del(pair[0])
		}
	}
	u.RawQuery = query.Encode()
	v.Leave(u.String())
}

// editArgs completes the fields that were emptied: they are taken from the text, or are none.
func editArgs(v *web.Visit, args *op.Args) error {
	var empty []string
	for name, none := range map[string]string{"title": `"title":""`, "tags": `"tags":[]`} {
		if v.Form.Has(name) && strings.TrimSpace(v.Form.Get(name)) == "" {
			empty = append(empty, none)
			args.Params = slices.DeleteFunc(args.Params, func(p op.Param) bool { return p.Name == name })
		}
	}
	args.JSON = []byte("{" + strings.Join(empty, ",") + "}")
	return nil
}

// edited keeps an edited candidate where the person asked for it.
func edited(v *web.Visit, _ any) error {
	if v.Form.Get("keep") == "" {
		v.Redirect(queuePath+"/"+v.PathValue("sessionId")+"/"+v.PathValue("candidateId"), "saved")
		return nil
	}
	_, err := web.Write[loci.ModeratedCandidate](v, "session.moderate", "sessionId", v.PathValue("sessionId"),
		"candidateId", v.PathValue("candidateId"), "action", string(loci.ModerationCompile))
	if err != nil {
		if readErr := readCandidate(v); readErr != nil {
			return readErr
		}
		return err
	}
	goOn(v, "kept", "last", v.PathValue("candidateId"))
	return nil
}

// TagText returns the tags as a form has them.
func (d *detail) TagText() string { return web.TagText(d.Tags) }
