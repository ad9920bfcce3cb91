package store

import (
	"context"
	"github.com/loci-memory/loci/internal/sqldb"
)

// A structureChecker database can look at its own file.
type structureChecker interface {
	// CheckStructure returns what is wrong with tables and indexes.
	CheckStructure(ctx context.Context) ([]sqldb.StructureError, error)
	// RebuildIndexes makes indexes of the database anew from their tables, and returns what kept
	// it from doing so, by index. With space it gives back pages that nothing uses.
	RebuildIndexes(ctx context.Context, names []string, space bool) (failed map[string]error, err error)
}

// checkStructure begins with the database's own check: what it finds explains what
// is found after it. A repair makes damaged indexes anew.
func (s *Store) checkStructure(ctx context.Context, sum *IntegrityReport, o IntegrityOptions) error {
	db, ok := s.db.DB.(structureChecker)
	if !ok {
		return nil // PostgreSQL: pg_amcheck is for its operator
	}
	list, err := db.CheckStructure(ctx)
	if err != nil {
		return s.reportUnreadable(err, sum, "the structure of the database cannot be looked at")
	}
	left, failed := map[string]bool{}, map[string]error{}
	if o.Repair && len(list) > 0 {
		var names []string
		space := false
		for _, f := range list {
			if f.IsIndex {
				names = append(names, f.Name)
			}
			space = space || !f.IsIndex && f.Repairable()
		}
		if failed, err = db.RebuildIndexes(ctx, names, space); err != nil {
			return err
		}
		after, err := db.CheckStructure(ctx)
		if err != nil {
			return s.reportUnreadable(err, sum, "the structure of the database cannot be looked at")
		}
		for _, f := range after {
			left[f.Name] = true
		}
	}
	for _, f := range list {
		told := Inconsistency{Kind: InconsistentStructure, ID: f.Name, Detail: f.Detail}
		sum.Found++
		switch {
		case !o.Repair && f.IsIndex:
			told.Repair = "its table has all that is in it: --repair makes it anew"
		case !o.Repair:
		case left[f.Name] && failed[f.Name] != nil:
			told.Repair = "could not be made anew from its table: " + sqldb.RootCause(failed[f.Name]).Error()
		case left[f.Name] && f.Repairable():
			told.Repair = "could not be repaired"
		case left[f.Name]:
			told.Repair = restoreAdvice
		case f.IsIndex:
			told.Repair = "made anew from its table"
		default:
			told.Repair = "gone with the indexes that were made anew"
		}
		if o.Repair && !left[f.Name] {
			told.Repaired = true
			sum.Repaired++
		}
		sum.Inconsistencies = append(sum.Inconsistencies, told)
	}
	return nil
}
