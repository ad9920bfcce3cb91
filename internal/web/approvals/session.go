package approvals

import (
	"html/template"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/web"
	"github.com/loci-memory/loci/internal/web/markdown"
)

// sessionParams are the fields of the address of the list of sessions.
var sessionParams = []string{"scope", "workspace_id", "status", "include", "cursor"}

// A sessions is what the list of sessions shows.
type sessions struct {
	Rows                 []sessionRow
	Workspaces, States   []web.Choice
	Managed, All, Narrow bool   // All: archived ones too; Narrow: a filter limits the result
	Next, Mine, Others   string // addresses
}

// A sessionRow is a session in the list.
type sessionRow struct {
	loci.Session
	State, Program, Person, Workspace string
}

// sessionWords are the states of sessions as pages say them.
var sessionWords = map[loci.SessionStatus]string{loci.SessionActive: "Active", loci.SessionCompleted: "Ended",
	loci.SessionFinalized: "Finished"}

// readSessions reads the list of sessions.
func readSessions(v *web.Visit) error {
	s := &sessions{Managed: v.Values["scope"] == string(loci.ScopeManaged), All: v.Values["include"] != ""}
	s.Narrow = v.Values["workspace_id"] != "" || v.Values["status"] != "" || v.Values["cursor"] != ""
	s.Mine = v.Link("scope", "", "cursor", "")
	s.Others = v.Link("scope", string(loci.ScopeManaged), "cursor", "")
	for _, state := range []loci.SessionStatus{loci.SessionActive, loci.SessionCompleted, loci.SessionFinalized} {
		s.States = append(s.States, web.NewChoice(string(state), sessionWords[state], v.Values["status"]))
	}
	v.Data = s
	spaces, err := web.Read[loci.Workspaces](v, "workspace.list", "limit", "100")
	if err != nil {
		return err
	}
	places, people := map[loci.ID]string{}, web.ReadNames(v, "")
	for _, w := range spaces.Workspaces {
		chosen := string(w.ID) == v.Values["workspace_id"]
		s.Workspaces = append(s.Workspaces, web.Choice{Value: string(w.ID), Label: w.Name, Chosen: chosen})
		if places[w.ID] = w.Name; chosen && s.Managed {
			people = web.ReadNames(v, w.ID)
		}
	}
	list, err := web.Read[loci.Sessions](v, "session.list", "scope", v.Values["scope"], "workspace_id",
		v.Values["workspace_id"], "status", v.Values["status"], "include", v.Values["include"], "cursor",
		v.Values["cursor"], "limit", "30")
	for _, x := range list.Sessions {
		s.Rows = append(s.Rows, sessionRow{x, sessionWords[x.Status], program(x), people.Of(x.UserID),
			places[x.WorkspaceID]})
	}
	if list.NextCursor != "" {
		s.Next = v.Link("cursor", list.NextCursor)
	}
	return err
}

// A session is what the page of one shows.
type session struct {
	loci.SessionDetail
	State, Program  string
	Workspace       loci.Workspace
	People          web.Names
	Parts           []row // the candidates
	Steps           []step
	Checks          []note
	Summary         template.HTML
	Move, TakeBack  bool // it can be archived or restored; its memory can be archived
	HasMemory, Open bool // a unit has a memory; the session is no archived one
}

// A step is one of the history, in words.
type step struct {
	loci.HistoryStep
	Who, Did, What, Path string
}

// A note is a checkpoint.
type note struct {
	loci.Checkpoint
	HTML template.HTML
}

// actionWords are the actions of a history as pages say them.
var actionWords = map[loci.SessionAction]string{loci.ActionStarted: "began the session",
	loci.ActionCaptured: "proposed", loci.ActionDrawn: "noticed", loci.ActionCheckpoint: "wrote a checkpoint",
	loci.ActionOpened: "opened the unit", loci.ActionCompiled: "kept",
	loci.ActionSkipped:   "left out, as known already,",
	loci.ActionDismissed: "dismissed", loci.ActionReverted: "took back", loci.ActionUpdated: "updated",
	loci.ActionSuperseded: "replaced a memory by", loci.ActionCompleted: "ended the session",
	loci.ActionFinalized: "finished", loci.ActionReopened: "opened again", loci.ActionArchived: "archived",
	loci.ActionRestored: "restored"}

// readSession reads what the page of a session shows.
func readSession(v *web.Visit) (err error) {
	s := &session{}
	s.SessionDetail, err = web.Read[loci.SessionDetail](v, "session.get", "sessionId", v.PathValue("sessionId"),
		"max_tokens", "2000")
	if err != nil {
		return err
	}
	x := s.Session
	space, err := web.Read[loci.WorkspaceActivity](v, "workspace.get", "workspaceId", string(x.WorkspaceID))
	if err != nil {
		return err
	}
	s.Workspace, s.State, s.Program, s.Open = space.Workspace, sessionWords[x.Status], program(x), !x.Archived
	members := loci.ID("")
	if s.Workspace.Kind == loci.WorkspaceTeam {
		members = x.WorkspaceID
	}
	s.People, s.HasMemory = web.ReadNames(v, members), x.MemoryID != ""
	s.Move = s.Workspace.Status == loci.ContainerActive &&
		(s.Context.Atlas == nil || s.Context.Atlas.Status == loci.ContainerActive)
	if s.Move && s.Open && s.HasMemory {
		m, err := web.Read[loci.MemoryDetail](v, "memory.get", "memoryId", string(x.MemoryID))
		s.TakeBack = err == nil && m.Status == loci.MemoryActive
	}
	if x.Summary != "" {
		s.Summary = markdown.HTML(x.Summary)
	}
	s.fill()
	v.Title, v.Data = x.Title, s
	return nil
}

// fill puts the parts of the session into words.
func (s *session) fill() {
	titles := map[loci.ID]string{}
	for _, c := range s.Candidates {
		titles[c.ID] = c.Title
		s.Parts = append(s.Parts, row{Candidate: c, Kind: web.TypeWords[c.Type],
			Path: queuePath + "/" + string(c.SessionID) + "/" + string(c.ID)})
	}
	for _, u := range s.Units {
		titles[u.ID] = u.Title
	}
	for _, h := range s.History {
		did := actionWords[h.Action]
		if did == "" {
			did = string(h.Action)
		}
		x := step{HistoryStep: h, Who: s.People.Of(h.UserID), Did: did, What: titles[h.CandidateID]}
		if x.What == "" {
			x.What = titles[h.UnitID]
		}
		if h.MemoryID != "" {
			x.Path = "/app/memories/" + string(h.MemoryID)
		}
		s.Steps = append(s.Steps, x)
	}
	for _, c := range s.Checkpoints {
		s.Checks = append(s.Checks, note{c, markdown.HTML(c.Summary)})
	}
}

// State returns the state of a candidate in words.
func (r row) State() string { return stateWords[r.Status] }

// restoreArgs makes of the form that restores a session one of the operation that archives it.
func restoreArgs(_ *web.Visit, args *op.Args) error {
	args.Params = append(args.Params, op.Param{Name: "archived", Value: "false"})
	return nil
}
