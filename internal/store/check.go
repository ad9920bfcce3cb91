package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/search"
)

// A Flaw is a place where what is derived from rows is not what the rows say, or
// where rows disagree. It never holds a text of a memory.
type Flaw struct {
	Kind   string `json:"kind"`             // see the constants
	ID     string `json:"id"`               // of the memory, atlas or workspace, or the name of a table or index
	What   string `json:"what"`             // is wrong
	Repair string `json:"repair,omitempty"` // what was done about it, or why nothing

	Repaired bool `json:"repaired"`

	mend func(*SystemTx) (string, error) // nil where nothing is derived: only a backup has it
}

// The kinds of flaws.
const (
	FlawStructure = "structure" // the file itself: pages, tables and the indexes of the database
	FlawIndex     = "index"     // the keyword index: documents, attributes, segments
	FlawCounters  = "counters"  // memories and bytes of an atlas
	FlawVersions  = "versions"  // what a memory was; derived from nothing
	FlawSketches  = "sketches"  // what near duplicates are found by
	FlawVectors   = "vectors"   // what a memory is found by its meaning by
	FlawLinks     = "links"     // superseded_by and supersedes
	FlawRows      = "rows"      // a row by itself
)

// Inspected says what an inspection looked at and found.
type Inspected struct {
	Workspaces int64  `json:"workspaces"`
	Memories   int64  `json:"memories"`
	Found      int64  `json:"found"`
	Repaired   int64  `json:"repaired"`
	Flaws      []Flaw `json:"flaws"` // the first maxFlaws
}

// maxFlaws is how many flaws are told one by one, and repaired in one round.
const maxFlaws = 1000

// An Inspection says how to inspect.
type Inspection struct {
	Repair   bool
	Progress func(rows int64) // nil for nobody; told now and then how many rows were looked at

	window int // of how many memories the bands are held at once; 0 is inspectWindow
}

// Flaws that samples found in this process, and those of them that only a backup can
// make good.
var seenFlaws, seenDamage atomic.Int64

// SeenFlaws returns how many flaws samples have found in this process.
func SeenFlaws() int64 { return seenFlaws.Load() }

// SeenDamage returns how many of those flaws nothing is left to repair from: texts
// that differ from their checksum, versions and rows that cannot be read.
func SeenDamage() int64 { return seenDamage.Load() }

// Inspect compares everything derived with the rows. It sees each workspace as it
// is at one moment, and needs memory for a number for each memory of the largest
// and for some thousand texts, whatever there is. With Repair it writes what is
// derived anew where it is wrong.
func (s *Store) Inspect(ctx context.Context, o Inspection) (sum Inspected, err error) {
	sum.Flaws = []Flaw{}
	looked := int64(0)
	saw := func(rows int) {
		if looked += int64(rows); o.Progress != nil {
			o.Progress(looked)
		}
	}
	if err = s.inspectStructure(ctx, &sum, o); err == nil {
		err = s.beyond(s.renew(ctx), &sum, "the keyword index cannot be brought up to date")
	}
	if err == nil {
		err = s.beyond(s.inspectAll(ctx, &sum, o), &sum, "what belongs to no workspace cannot be looked at")
	}
	for after := int64(0); err == nil; {
		var list []inspector
		if list, err = s.workspacesAfter(ctx, after); err != nil || len(list) == 0 {
			return sum, s.beyond(err, &sum, "the workspaces cannot be listed")
		}
		for _, i := range list {
			i.saw, i.window = saw, o.window
			if err = s.inspectOne(ctx, i, &sum, o); err != nil {
				return sum, err
			}
			after = i.workspace
			sum.Workspaces++
		}
	}
	return sum, err
}

// beyond makes a flaw of what the database cannot read, so that an inspection goes on.
func (s *Store) beyond(err error, sum *Inspected, what string) error {
	why := cannotRead(err)
	if why == "" {
		return err
	}
	sum.Found++
	sum.Flaws = append(sum.Flaws, Flaw{Kind: FlawStructure, What: what + ": " + why})
	return nil
}

// fromBackup is said of a flaw that nothing is left to repair from.
const fromBackup = "restore it from a backup: nothing else says what it should be"

func (s *Store) workspacesAfter(ctx context.Context, after int64) (list []inspector, err error) {
	return SystemRead(ctx, s, "list workspaces to inspect", func(t *SystemTx) (list []inspector, err error) {
		err = t.t.c.each(`SELECT rid, id FROM workspaces WHERE rid > ?1 ORDER BY rid LIMIT 1000`, []any{after}, func(r row) error {
			var i inspector
			err := r.Scan(&i.workspace, &i.id)
			list = append(list, i)
			return err
		})
		return list, err
	})
}

// inspectOne inspects a workspace, and again where there was more to repair than
// one round takes.
func (s *Store) inspectOne(ctx context.Context, i inspector, sum *Inspected, o Inspection) error {
	for found := int64(math.MaxInt64); ; {
		i := i // a round starts anew
		_, err := SystemRead(ctx, s, "inspect a workspace", func(t *SystemTx) (loci.Nothing, error) { return loci.Nothing{}, i.inspect(t.t) })
		if err != nil {
			return err
		}
		before, last := sum.Repaired, found
		if err := s.account(ctx, i.flaws, sum, o); err != nil {
			return err
		}
		found = int64(len(i.flaws)) + i.more
		// A damaged table can lose what a repair writes: a round that leaves as many flaws is the last.
		if len(i.flaws) < maxFlaws || !o.Repair || sum.Repaired == before || found >= last {
			sum.Memories += int64(len(i.chosen()))
			sum.Found += i.more
			return nil
		}
	}
}

// account tells of flaws, and repairs them if that is wanted.
func (s *Store) account(ctx context.Context, flaws []Flaw, sum *Inspected, o Inspection) error {
	for _, f := range flaws {
		sum.Found++
		switch {
		case !o.Repair:
		case f.mend == nil:
			f.Repair = fromBackup
		default:
			done, err := System(ctx, s, "repair what is derived", f.mend)
			if why := cannotRead(err); why != "" {
				f.Repair = "could not be repaired: " + why
				break
			}
			if err != nil {
				return err
			}
			f.Repair, f.Repaired = done, true
			sum.Repaired++
		}
		if len(sum.Flaws) < maxFlaws {
			sum.Flaws = append(sum.Flaws, f)
		}
	}
	return nil
}

// inspectAll looks at what belongs to no workspace.
func (s *Store) inspectAll(ctx context.Context, sum *Inspected, o Inspection) error {
	due, err := s.unfinished(ctx)
	if err != nil {
		return err
	}
	if due {
		f := Flaw{Kind: FlawRows, What: "a purge was cut off: bytes of what it erased may be in free space"}
		if sum.Found++; o.Repair {
			if err := s.finishPurge(ctx); err != nil {
				return err
			}
			f.Repair, f.Repaired = "finished it", true
			sum.Repaired++
		}
		sum.Flaws = append(sum.Flaws, f)
	}
	if err := s.inspectCommits(ctx, sum, o); err != nil {
		return err
	}
	flaws, err := SystemRead(ctx, s, "look for what belongs to no workspace", func(t *SystemTx) (flaws []Flaw, err error) {
		const stray = ` FROM sketches WHERE workspace NOT IN (SELECT rid FROM workspaces)`
		var n int64
		if err := t.t.c.one(`SELECT count(*)`+stray, nil, []any{&n}); err != nil || n == 0 {
			return nil, err
		}
		return []Flaw{{Kind: FlawSketches, What: fmt.Sprintf("%d rows are of workspaces that are gone", n), mend: func(t *SystemTx) (string, error) {
			_, err := t.t.exec(`DELETE` + stray)
			return "removed them", err
		}}}, nil
	})
	if err != nil {
		return err
	}
	return s.account(ctx, flaws, sum, o)
}

// Sample inspects some memories from a random one on, those of its workspace
// next to it, and counts what it finds in SeenFlaws. It costs one look at each
// segment that holds them.
func (s *Store) Sample(ctx context.Context, memories int) (sum Inspected, err error) {
	sum.Flaws = []Flaw{}
	i, err := SystemRead(ctx, s, "choose memories to inspect", func(t *SystemTx) (i inspector, err error) {
		var least, most int64
		err = t.t.c.one(`SELECT COALESCE((SELECT min(rid) FROM memories), 0), COALESCE((SELECT max(rid) FROM memories), 0)`, nil, []any{&least, &most})
		if err != nil {
			return i, err
		}
		i.some, i.from = memories, least+rand.Int64N(most-least+1)
		var analyzer int
		err = t.t.c.one(`SELECT w.rid, w.id, x.analyzer FROM memories e JOIN workspaces w ON w.rid = e.workspace JOIN indexes x ON x.workspace = e.workspace
			WHERE e.rid >= ?1 ORDER BY e.rid LIMIT 1`, []any{i.from}, []any{&i.workspace, &i.id, &analyzer})
		if err == nil && analyzer != search.AnalyzerVersion {
			err = errNoRow // it is not what it will be
		}
		return i, err
	})
	if errors.Is(err, errNoRow) {
		return sum, nil
	}
	if err == nil {
		sum.Workspaces, i.saw = 1, func(int) {}
		err = s.inspectOne(ctx, i, &sum, Inspection{})
	}
	seenFlaws.Add(sum.Found)
	for _, f := range sum.Flaws {
		if f.mend == nil {
			seenDamage.Add(1)
		}
	}
	return sum, err
}
