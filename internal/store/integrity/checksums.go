package integrity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/loci-memory/loci/internal/sqldb"
)

// checksumBatchSize is the number of rows that one transaction compares with their checksums.
const checksumBatchSize = 1000

// comparedTables are the names of the tables whose rows are compared with their checksums, or refer to other rows.
// Those of derived tables are compared with what they follow from.
var comparedTables = slices.DeleteFunc(sqldb.TableNames(), func(name string) bool {
	_, isSummed := sqldb.ChecksumTables()[name]
	isSummed = isSummed && Tables[name].Class != Derived
	return !isSummed && len(sqldb.Tables()[name].References) == 0
})

// checkRows compares the rows of tables with their checksums, and looks for the rows to which they refer.
func (c *Checker) checkRows(ctx context.Context, sum *Report, o Options) (err error) {
	for _, name := range comparedTables {
		for after := []any(nil); ; {
			if after, err = c.compareRows(ctx, name, after, checksumBatchSize, sum, o); err != nil {
				return err
			}
			if after == nil {
				break
			}
		}
	}
	return nil
}

// compareRows compares up to size rows of a table after a key with their checksums, and looks for the rows to which
// they refer. It reports what is wrong, and notes the tables. It returns the last key, or nil at the end and where
// rows cannot be read.
func (c *Checker) compareRows(ctx context.Context, table string, after []any, size int, sum *Report,
	o Options) (last []any, err error) {
	type result struct {
		wrong []sqldb.WrongRow
		last  []any
	}
	r, err := sqldb.SystemRead(ctx, c.db, "compare rows with their checksums", func(t *sqldb.Tx) (r result, err error) {
		r.wrong, r.last, err = sqldb.Tables()[table].Check(t, after, size)
		return r, err
	})
	report := func(kind, id, detail string) {
		f := Inconsistency{Kind: kind, ID: cmp.Or(id, table), Detail: detail}
		if o.Repair {
			f.Repair = restoreAdvice
		}
		sum.add(f)
	}
	for _, row := range r.wrong {
		if !sqldb.Tables()[table].HasChecksums() || row.IsDamaged && Tables[table].Class == Derived {
			if len(row.Lost) > 0 {
				o.orphans[table] = append(o.orphans[table], row)
			}
			continue
		}
		if row.IsDamaged {
			kind := InconsistentRows
			if table == "versions" {
				kind = InconsistentVersions
			}
			detail := "the checksum of row " + row.Key + " of " + table + " is another one"
			if id := cmp.Or(row.ID, table); o.Repair && slices.Contains(o.Accept, id) {
				f := Inconsistency{Kind: kind, ID: id, Detail: detail}
				err = errors.Join(err, c.repairUnowned(sum, o, f, "accepted it as it is", func() error {
					return c.repair(ctx, func(t *sqldb.Tx) error { return sqldb.Tables()[table].Accept(t, row) })
				}))
			} else {
				o.damaged[table] = true
				report(kind, row.ID, detail)
			}
		}
		for _, lost := range row.Lost {
			if Tables[lost.Table].Class != Source {
				continue // it is made again, or gone with its use
			}
			o.damaged[lost.Table] = true
			report(InconsistentReferences, row.ID, lostText(table, row, lost))
		}
	}
	o.damaged[table] = o.damaged[table] || err != nil
	return r.last, c.reportUnreadable(err, sum, "rows of "+table+" cannot be read")
}

func lostText(table string, row sqldb.WrongRow, lost sqldb.LostRow) string {
	return fmt.Sprintf("row %s of %s refers to the row %.100q of %s, which is not there", row.Key, table, lost.Key,
		lost.Table)
}

// checkOrphans reports the rows of derived tables that refer to rows that are not there. A checksum proves no such
// reference, so it may be the damage itself, and no row is lost. A repair deletes them: the data of the rows that are
// there are rebuilt.
func (c *Checker) checkOrphans(ctx context.Context, sum *Report, o Options) (err error) {
	for _, table := range slices.Sorted(maps.Keys(o.orphans)) {
		for _, row := range o.orphans[table] {
			lost := row.Lost[0]
			f := Inconsistency{Kind: cmp.Or(Tables[table].Kind, InconsistentRows), ID: cmp.Or(row.ID, table),
				Detail: lostText(table, row, lost), derived: true}
			if o.keeps(&f, lost.Table) {
				sum.add(f)
				continue
			}
			err = errors.Join(err, c.repairUnowned(sum, o, f, "deleted it", func() error {
				return c.repair(ctx, func(t *sqldb.Tx) error { return sqldb.Tables()[table].DeleteOrphan(t, row) })
			}))
		}
	}
	return err
}

// sampleRows compares the next rows of each table, size of them, with their checksums, and looks for the rows to which
// they refer. It begins again after the last row.
func (c *Checker) sampleRows(ctx context.Context, size int, sum *Report) (err error) {
	c.sampling.Lock()
	defer c.sampling.Unlock()
	o := Options{damaged: map[string]bool{}, orphans: map[string][]sqldb.WrongRow{}}
	for _, name := range comparedTables {
		if c.sampled[name], err = c.compareRows(ctx, name, c.sampled[name], size, sum, o); err != nil {
			return err
		}
	}
	return c.checkOrphans(ctx, sum, o)
}
