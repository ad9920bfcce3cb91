package replica

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/store/pairdb"
)

// A Ledger keeps the pairs of the local database with one account. *pairdb.Pairs is one.
type Ledger interface {
	All(ctx context.Context) ([]*pairdb.Pair, error)
	Save(ctx context.Context, pairs ...*pairdb.Pair) error
	Delete(ctx context.Context, p *pairdb.Pair) error
}

// A Winner decides conflicts.
type Winner string

// The winners. Without one, conflicts are left.
const (
	Mine   Winner = "mine"   // the local memory
	Theirs Winner = "theirs" // the memory on the server
)

// Options configure a run.
type Options struct {
	To            pairdb.Place // the side that receives memories
	Local, Remote op.Caller
	Ledger        func(account loci.ID) Ledger

	Workspace string // name or id on the server; empty means the personal one
	Atlas     string // name; empty means all
	Winner    Winner
	Delete    bool // deletions are copied too
	DryRun    bool
	Progress  func(done, total int) // may be nil
	// Confirm is asked before memories are deleted; it may be nil. An error ends the run before it changes a memory.
	Confirm func(ctx context.Context, deletions int) error
}

// A run is one push or pull.
type run struct {
	Options
	sides    [2]*side
	from, to *side
	ledger   Ledger

	pairs     []*pairdb.Pair              // of the workspace
	byID      [2]map[loci.ID]*pairdb.Pair // by the ids of each side
	elsewhere map[loci.ID]bool            // local memories whose copy is in another workspace of the account
	targets   map[loci.ID]target          // by the id of the atlas on the other side
	tasks     map[loci.ID]*task           // creations and updates, by the id on side from
	others    []*task                     // deletions, and copies to side from
	statuses  []*statusTask               // after all copies
	unsaved   map[*pairdb.Pair]bool       // changed pairs
	quota     quotaGuard
	done      int
	report    Report
}

// maxUnsaved is the number of finished copies that are saved together. After a kill the next run finds them.
const maxUnsaved = 100

// Run copies memories in one direction. After an error the report covers what was done before.
func Run(ctx context.Context, o Options) (Report, error) {
	r := &run{Options: o, elsewhere: map[loci.ID]bool{}, targets: map[loci.ID]target{}, tasks: map[loci.ID]*task{},
		unsaved: map[*pairdb.Pair]bool{}, report: newReport()}
	r.report.DryRun = o.DryRun
	err := r.prepare(ctx)
	if err == nil {
		r.report.Workspace = r.sides[pairdb.There].workspace.Name
		err = r.plan(ctx)
	}
	if err == nil && o.DryRun {
		r.reportPlan()
	} else if err == nil {
		err = errors.Join(r.execute(ctx), r.saveAll(context.WithoutCancel(ctx)))
	}
	r.report.OK = err == nil && len(r.report.Conflicts)+len(r.report.Refusals) == 0
	return r.report, err
}

// prepare reads the pairs and the memories of both sides.
func (r *run) prepare(ctx context.Context) error {
	r.sides = [2]*side{{place: pairdb.Here, caller: r.Local}, {place: pairdb.There, caller: r.Remote}}
	r.to, r.from = r.sides[r.To], r.sides[r.To.Other()]
	if err := r.sides[pairdb.Here].open(ctx, ""); err != nil {
		return err
	}
	if err := r.sides[pairdb.There].open(ctx, r.Workspace); err != nil {
		return err
	}
	if err := r.checkAtlas(); err != nil {
		return err
	}
	if err := r.readPairs(ctx); err != nil {
		return err
	}
	for _, s := range r.sides {
		if err := s.list(ctx, len(r.unfinished(s)) > 0); err != nil {
			return err
		}
	}
	for _, s := range r.sides {
		if err := r.findCreated(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// checkAtlas refuses a name that no atlas has. The letter case counts where several atlases differ in it alone.
func (r *run) checkAtlas() error {
	if r.Atlas == "" {
		return nil
	}
	var names []string
	for _, s := range r.sides {
		for _, a := range s.atlases {
			if strings.EqualFold(a.Name, r.Atlas) && !slices.Contains(names, a.Name) {
				names = append(names, a.Name)
			}
		}
	}
	switch {
	case slices.Contains(names, r.Atlas):
		return nil
	case len(names) == 1:
		r.Atlas = names[0]
		return nil
	case len(names) > 1:
		return loci.Errorf(loci.CodeInvalidQuery, "Several atlases are named %q: use the letter case of one: %q.",
			r.Atlas, names)
	}
	return loci.Errorf(loci.CodeNotFound, "There is no atlas %q on either side.", r.Atlas)
}

func (r *run) readPairs(ctx context.Context) error {
	r.ledger = r.Ledger(r.sides[pairdb.There].user)
	all, err := r.ledger.All(ctx)
	if err != nil {
		return err
	}
	r.byID = [2]map[loci.ID]*pairdb.Pair{{}, {}}
	for _, p := range all {
		if p.Workspace != r.sides[pairdb.There].workspace.ID {
			r.elsewhere[p.ID[pairdb.Here]] = true
			continue
		}
		r.addPair(p)
	}
	return nil
}

// addPair adds a pair to the indexes of the run.
func (r *run) addPair(p *pairdb.Pair) {
	r.pairs = append(r.pairs, p)
	r.indexPair(p)
}

func (r *run) indexPair(p *pairdb.Pair) {
	for place, id := range p.ID {
		if id != "" {
			r.byID[place][id] = p
		}
	}
}

// dropPair deletes a pair whose memories are gone or were refused.
func (r *run) dropPair(ctx context.Context, p *pairdb.Pair) error {
	for place, id := range p.ID {
		delete(r.byID[place], id)
	}
	delete(r.unsaved, p)
	if r.DryRun {
		return nil
	}
	return r.ledger.Delete(context.WithoutCancel(ctx), p)
}

// save remembers a changed pair, and saves all of them when there are many.
func (r *run) save(ctx context.Context, p *pairdb.Pair) error {
	r.unsaved[p] = true
	if len(r.unsaved) < maxUnsaved {
		return nil
	}
	return r.saveAll(ctx)
}

// saveAll saves the changed pairs and then others.
func (r *run) saveAll(ctx context.Context, others ...*pairdb.Pair) error {
	list := slices.Collect(maps.Keys(r.unsaved))
	for _, p := range others {
		if !r.unsaved[p] {
			list = append(list, p)
		}
	}
	clear(r.unsaved)
	if r.DryRun {
		return nil
	}
	return r.ledger.Save(context.WithoutCancel(ctx), list...)
}

// other returns the other side.
func (r *run) other(s *side) *side { return r.sides[s.place.Other()] }

// memory names the memory of a pair.
func (r *run) memory(p *pairdb.Pair) Memory {
	m := Memory{LocalID: p.ID[pairdb.Here], RemoteID: p.ID[pairdb.There]}
	for place := range r.sides {
		if e := r.sides[place].entries[p.ID[place]]; e != nil && m.Title == "" {
			m.Title = e.title
		}
	}
	return m
}

// fatal reports whether an error ends the run: other memories would have the same.
func fatal(err error) bool {
	if err == nil {
		return false
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	_, ofLoci := errors.AsType[*loci.Error](err)
	return !ofLoci || slices.Contains([]loci.Code{loci.CodeUnavailable, loci.CodeMissingAPIKey, loci.CodeInvalidKey,
		loci.CodeRevoked, loci.CodeRateLimited, loci.CodeStorageFull}, loci.AsError(err).Code)
}

// A quotaGuard skips further creations once many in a row were over the quota.
type quotaGuard struct {
	inRow int
	last  error
}

// maxOverQuota is the number of creations over the quota after which no more are tried. Smaller memories may fit.
const maxOverQuota = 20

func (q *quotaGuard) observe(err error) {
	q.inRow, q.last = q.inRow+1, err
	if !loci.Is(err, loci.CodeQuotaExceeded) {
		q.inRow = 0
	}
}

// refusal returns the reason not to try another creation, or nil.
func (q *quotaGuard) refusal() error {
	if q.inRow < maxOverQuota {
		return nil
	}
	return q.last
}
