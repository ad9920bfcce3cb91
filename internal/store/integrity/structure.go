package integrity

import (
	"context"
	"errors"
	"slices"

	"github.com/loci-memory/loci/internal/sqldb"
)

// A structureChecker is a database that can check its own file, or its indexes.
type structureChecker interface {
	// CheckStructure returns the damage of tables and indexes, or sqldb.NotChecked.
	CheckStructure(ctx context.Context) ([]sqldb.StructureDamage, error)
	// RebuildIndexes rebuilds indexes from their tables, and returns the errors by index. With space it also frees
	// unused pages.
	RebuildIndexes(ctx context.Context, names []string, space bool) (failed map[string]error, err error)
	// KeepEvidence writes the entries of indexes that differ from their rows to a file, unless path is "".
	KeepEvidence(ctx context.Context, indexes []string) (path string, err error)
}

// checkStructure runs the database's own check. A repair rebuilds a damaged index if the rows of its table match their
// checksums. Otherwise neither is proved, and it keeps the values of both in a file.
func (c *Checker) checkStructure(ctx context.Context, sum *Report, o Options) error {
	db, ok := c.db.DB.(structureChecker)
	if !ok {
		return nil
	}
	list, err := db.CheckStructure(ctx)
	if what, ok := errors.AsType[sqldb.NotChecked](err); ok {
		sum.NotChecked = append(sum.NotChecked, string(what))
		return nil
	}
	if err != nil {
		return c.reportUnreadable(err, sum, "the structure of the database cannot be read")
	}
	evidence, left, failed := "", map[sqldb.DamageKey]bool{}, map[string]error{}
	if o.Repair && len(list) > 0 {
		var proved, unproved []string
		space := false
		for _, f := range list {
			switch {
			case f.IsIndex && o.damaged[f.Table]:
				unproved = append(unproved, f.Name)
			case f.IsIndex:
				proved = append(proved, f.Name)
			}
			space = space || !f.IsIndex && f.Repairable()
		}
		if len(unproved) > 0 {
			if evidence, err = db.KeepEvidence(ctx, unproved); err != nil {
				return err
			}
		}
		if failed, err = db.RebuildIndexes(ctx, proved, space); err != nil {
			return err
		}
		after, err := db.CheckStructure(ctx)
		if err != nil {
			return c.reportUnreadable(err, sum, "the structure of the database cannot be read")
		}
		for _, f := range after {
			left[f.Key()] = true
			if !slices.ContainsFunc(list, func(x sqldb.StructureDamage) bool { return x.Key() == f.Key() }) {
				list = append(list, f) // the first check ended before it
			}
		}
	}
	for _, f := range list {
		found := Inconsistency{Kind: InconsistentStructure, ID: f.Name, Detail: f.Detail}
		switch {
		case f.IsIndex && o.damaged[f.Table] && !o.Repair:
			found.Repair = "rows of the table are damaged too: --repair keeps the values of both"
		case f.IsIndex && o.damaged[f.Table]:
			found.Repair = "not rebuilt, as rows of its table are damaged too"
			if evidence != "" {
				found.Repair += ": " + evidence + " has the values of both"
			}
		case !o.Repair && f.IsIndex:
			found.Repair = "the table is whole: loci admin check --repair rebuilds the index from it (REINDEX)"
		case !o.Repair:
		case left[f.Key()] && failed[f.Name] != nil:
			found.Repair = "could not be rebuilt from its table: " + sqldb.RootCause(failed[f.Name]).Error()
		case left[f.Key()] && f.Repairable():
			found.Repair = "could not be repaired"
		case left[f.Key()]:
			found.Repair = restoreAdvice
		case f.IsIndex:
			found.Repair = "rebuilt from its table"
		default:
			found.Repair = "repaired by rebuilding the indexes"
		}
		found.Repaired = o.Repair && !left[f.Key()]
		sum.add(found)
	}
	return nil
}
