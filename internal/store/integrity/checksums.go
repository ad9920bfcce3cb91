package integrity

import (
	"cmp"
	"context"
	"fmt"
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
		if row.IsDamaged && Tables[table].Class != Derived {
			kind := InconsistentRows
			if table == "versions" {
				kind = InconsistentVersions
			}
			o.damaged[table] = true
			report(kind, row.ID, "the checksum of row "+row.Key+" of "+table+" is another one")
		}
		for _, lost := range row.Lost {
			if Tables[lost.Table].Class != Source {
				continue // it is made again, or gone with its use
			}
			o.damaged[lost.Table] = true
			report(InconsistentReferences, row.ID, fmt.Sprintf("row %s of %s refers to the row %.100q of %s, which is "+
				"not there", row.Key, table, lost.Key, lost.Table))
		}
	}
	o.damaged[table] = o.damaged[table] || err != nil
	return r.last, c.reportUnreadable(err, sum, "rows of "+table+" cannot be read")
}

// sampleRows compares the next rows of each table, size of them, with their checksums, and looks for the rows to which
// they refer. It begins again after the last row.
func (c *Checker) sampleRows(ctx context.Context, size int, sum *Report) (err error) {
	c.sampling.Lock()
	defer c.sampling.Unlock()
	for _, name := range comparedTables {
		c.sampled[name], err = c.compareRows(ctx, name, c.sampled[name], size, sum,
			Options{damaged: map[string]bool{}})
		if err != nil {
			return err
		}
	}
	return nil
}
