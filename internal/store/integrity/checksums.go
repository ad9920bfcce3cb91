package integrity

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/loci-memory/loci/internal/sqldb"
)

// checksumBatchSize is the number of rows that one transaction compares with their checksums.
const checksumBatchSize = 1000

// summedTables are the names of the tables whose rows are compared with their checksums. Those of derived tables are
// compared with what they follow from.
var summedTables = slices.DeleteFunc(slices.Sorted(maps.Keys(sqldb.ChecksumTables())), func(name string) bool {
	return Tables[name].Class == Derived
})

// checkChecksums compares the rows of tables with their checksums, and reports damaged ones. It returns the tables with
// damaged or unreadable rows.
func (c *Checker) checkChecksums(ctx context.Context, sum *Report, o Options) (damaged map[string]bool, err error) {
	damaged = map[string]bool{}
	for _, name := range summedTables {
		for after := []any(nil); ; {
			before := sum.Found
			after, err = c.compareRows(ctx, name, after, checksumBatchSize, sum, o)
			damaged[name] = damaged[name] || sum.Found > before
			if err != nil {
				return nil, err
			}
			if after == nil {
				break
			}
		}
	}
	return damaged, nil
}

// compareRows compares up to size rows of a table after a key with their checksums, and reports damaged ones. It
// returns the last key, or nil at the end and where rows cannot be read.
func (c *Checker) compareRows(ctx context.Context, table string, after []any, size int, sum *Report,
	o Options) (last []any, err error) {
	type result struct {
		damaged []sqldb.DamagedRow
		last    []any
	}
	r, err := sqldb.SystemRead(ctx, c.db, "compare rows with their checksums", func(t *sqldb.Tx) (r result, err error) {
		r.damaged, r.last, err = sqldb.ChecksumTables()[table].Check(t, after, size)
		return r, err
	})
	for _, row := range r.damaged {
		kind := InconsistentRows
		if table == "versions" {
			kind = InconsistentVersions
		}
		f := Inconsistency{Kind: kind, ID: cmp.Or(row.ID, table),
			Detail: "the checksum of row " + row.Key + " of " + table + " is another one"}
		if o.Repair {
			f.Repair = restoreAdvice
		}
		sum.add(f)
	}
	return r.last, c.reportUnreadable(err, sum, "rows of "+table+" cannot be read")
}

// A rowPosition is where the samples of rows go on: after a key of a table, in the order of the names of tables.
type rowPosition struct {
	table string
	after []any
}

// sampleRows compares the next rows with their checksums.
func (c *Checker) sampleRows(ctx context.Context, size int, sum *Report) (err error) {
	c.sampling.Lock()
	defer c.sampling.Unlock()
	p := &c.position
	if p.after == nil { // the next table
		n, found := slices.BinarySearch(summedTables, p.table)
		if found {
			n++
		}
		p.table = summedTables[n%len(summedTables)]
	}
	p.after, err = c.compareRows(ctx, p.table, p.after, size, sum, Options{})
	return err
}
