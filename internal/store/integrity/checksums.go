package integrity

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/indexdb"
)

// checksumBatchSize is the number of rows that one transaction compares with their checksums.
const checksumBatchSize = 1000

// checkChecksums compares the rows of all tables with their checksums, and reports damaged ones. It returns the tables
// with damaged or unreadable rows.
func (c *Checker) checkChecksums(ctx context.Context, sum *Report, o Options) (damaged map[string]bool, err error) {
	damaged = map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(sqldb.ChecksumTables())) {
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
		f := Inconsistency{Kind: InconsistentRows, ID: cmp.Or(row.ID, table),
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
		names := slices.Sorted(maps.Keys(sqldb.ChecksumTables()))
		n, found := slices.BinarySearch(names, p.table)
		if found {
			n++
		}
		p.table = names[n%len(names)]
	}
	p.after, err = c.compareRows(ctx, p.table, p.after, size, sum, Options{})
	return err
}

// hasDamagedMemories reports whether a memory has another checksum, or is unreadable.
func (c *Checker) hasDamagedMemories(ctx context.Context) (has bool, err error) {
	const batch = 200
	for after, n := int64(0), batch; n == batch && err == nil && !has; {
		n = 0
		_, err = sqldb.SystemRead(ctx, c.db, "compare memories", func(t *sqldb.Tx) (_ bool, err error) {
			return has, t.Query(`SELECT`+indexdb.MemoryRowColumns+`FROM memories e WHERE e.row_id > ?1
				ORDER BY e.row_id LIMIT ?2`, []any{after, batch}, func(r sqldb.Row) error {
				var m indexdb.MemoryRow
				err := m.Scan(r)
				n++
				after, has = m.RowID, has || m.Damage() != ""
				return err
			})
		})
	}
	if sqldb.UnreadableReason(err) != "" {
		return true, nil
	}
	return has, err
}
