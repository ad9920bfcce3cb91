package session

import (
	"cmp"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/store/sessiondb"
	"github.com/loci-memory/loci/internal/title"
)

// eventStatements are the statements that were extracted from an event, with the sources of their candidates.
type eventStatements struct {
	event    loci.SessionEvent
	compiler string
	sources  []string
	list     []extract.Statement
}

// keepStatements stores the extracted statements as candidates, or in the mode units as the memory of their unit.
func (s *Service) keepStatements(tx *store.Tx, x *sessiondb.Session, mode loci.PolicyMode,
	d eventStatements) (out []loci.Candidate, err error) {
	if len(d.list) == 0 {
		return nil, nil
	}
	if mode == loci.ModeUnits {
		return nil, addToUnit(tx, x, d)
	}
	u, _, err := x.UnitByKey(d.event.UnitKey)
	if err != nil {
		return nil, err
	}
	list := d.list
	for _, source := range d.sources {
		if len(list) == 0 || x.Counts.Candidates >= loci.MaxCandidates {
			break // without space, the event is kept all the same
		}
		taken, err := x.CandidatesFrom([]string{source})
		if err != nil {
			return out, err
		}
		if len(taken) > 0 {
			continue // its client captured it, or it is of an event whose id resembles this one
		}
		c := newCandidate(loci.CaptureCandidate{Content: loci.CandidateContent(list[0].Text), Type: list[0].Type,
			SourceEventID: loci.ExternalID(source)})
		c.UnitID = u.ID
		entry, err := memorydb.ComputeIndexEntry(tx, c.Title, c.Content)
		if err == nil {
			c, err = s.addCandidate(x, c, entry, loci.ActionDrawn)
		}
		if err != nil {
			return out, err
		}
		out, list = append(out, c), list[1:]
	}
	return out, nil
}

// defaultUnit is the key of the unit of events without one.
const defaultUnit = "session"

// Names of this service in the records of compilations: of its rules, and of its language model.
const (
	compilerName      = "loci"
	modelCompilerName = "loci-llm"
)

// addToUnit adds statements to the memory of their unit, with a record of the compilation. A memory that somebody
// archived or replaced stays as it is.
func addToUnit(tx *store.Tx, x *sessiondb.Session, d eventStatements) error {
	key := cmp.Or(d.event.UnitKey, defaultUnit)
	u, found, err := x.UnitByKey(key)
	if err != nil || !found && x.Counts.Units >= loci.MaxUnits {
		return err
	}
	m := loci.Memory{Type: d.list[0].Type}
	if u.MemoryID != "" {
		former, err := memorydb.Record(tx, u.MemoryID)
		switch {
		case loci.Is(err, loci.CodeNotFound): // somebody has just deleted it
		case err != nil || former.Status != loci.MemoryActive:
			return err
		default:
			m.Content, m.Type = former.Content, former.Type
			if !former.TitleDerived {
				m.Title = former.Title
			}
		}
	}
	for _, s := range d.list {
		if m.Content != "" {
			m.Content += "\n"
		}
		m.Content += s.Text
	}
	if len(m.Content) > loci.MaxContent {
		return nil
	}
	title.Ensure(&m)
	if !found {
		if u, err = x.AddUnit(key, m.Title); err != nil {
			return err
		}
		u.Status = loci.UnitFinalized
	}
	entry, err := memorydb.ComputeIndexEntry(tx, m.Title, m.Content)
	if err != nil {
		return err
	}
	u, outcome, err := storeUnit(tx, x, u, m, entry, d.event.EventID)
	if err != nil {
		return err
	}
	_, err = x.AddCompilation(loci.Compilation{UnitKey: key, Compiler: d.compiler, Outcome: outcome,
		MemoryID: u.MemoryID, InputEventIDs: []string{d.event.EventID}})
	return err
}
