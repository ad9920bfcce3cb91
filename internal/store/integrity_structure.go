package store

import (
	"context"
)

// A structureChecker database can look at its own file.
type structureChecker interface {
	// checkStructure returns what is wrong with tables and indexes.
	checkStructure(ctx context.Context) ([]structureError, error)
	// rebuildIndexes makes indexes of the database anew from their tables, and returns what kept
	// it from doing so, by index. With space it gives back pages that nothing uses.
	rebuildIndexes(ctx context.Context, names []string, space bool) (failed map[string]error, err error)
}

// checkStructure begins with the database's own check: what it finds explains what
// is found after it. A repair makes damaged indexes anew.
func (s *Store) checkStructure(ctx context.Context, sum *IntegrityReport, o IntegrityOptions) error {
	db, ok := s.db.(structureChecker)
	if !ok {
		return nil // PostgreSQL: pg_amcheck is for its operator
	}
	list, err := db.checkStructure(ctx)
	if err != nil {
		return s.reportUnreadable(err, sum, "the structure of the database cannot be looked at")
	}
	left, failed := map[string]bool{}, map[string]error{}
	if o.Repair && len(list) > 0 {
		var names []string
		space := false
		for _, f := range list {
			if f.isIndex {
				names = append(names, f.name)
			}
			space = space || !f.isIndex && f.repairable()
		}
		if failed, err = db.rebuildIndexes(ctx, names, space); err != nil {
			return err
		}
		after, err := db.checkStructure(ctx)
		if err != nil {
			return s.reportUnreadable(err, sum, "the structure of the database cannot be looked at")
		}
		for _, f := range after {
			left[f.name] = true
		}
	}
	for _, f := range list {
		told := Inconsistency{Kind: InconsistentStructure, ID: f.name, Detail: f.detail}
		sum.Found++
		switch {
		case !o.Repair && f.isIndex:
			told.Repair = "its table has all that is in it: --repair makes it anew"
		case !o.Repair:
		case left[f.name] && failed[f.name] != nil:
			told.Repair = "could not be made anew from its table: " + rootCause(failed[f.name]).Error()
		case left[f.name] && f.repairable():
			told.Repair = "could not be repaired"
		case left[f.name]:
			told.Repair = restoreAdvice
		case f.isIndex:
			told.Repair = "made anew from its table"
		default:
			told.Repair = "gone with the indexes that were made anew"
		}
		if o.Repair && !left[f.name] {
			told.Repaired = true
			sum.Repaired++
		}
		sum.Inconsistencies = append(sum.Inconsistencies, told)
	}
	return nil
}
