// Package minhashdb keeps the LSH bands of active memories in the table minhash_bands, to find near duplicates.
package minhashdb

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/minhash"
	"github.com/loci-memory/loci/internal/sqldb"
)

// Limits of a search for candidates. The newest memories of each band are read. Those with the most common bands are
// returned: five, and the memory itself.
const (
	maxPerBand    = 16
	maxCandidates = 6
)

// Every text with a word has minhash.BandCount bands, so the statements are built once.
var insertSQL, selectSQL = func() (add, find string) {
	const n = minhash.BandCount
	rows, bands := make([]string, n), make([]string, n)
	for i := range n {
		rows[i] = fmt.Sprintf("(?1, ?%d, ?2)", i+3)
		bands[i] = fmt.Sprintf(
			`SELECT * FROM (SELECT s.memory FROM minhash_bands s WHERE s.workspace = ?1 AND s.band = ?%d
				ORDER BY s.memory DESC LIMIT %d) AS band`, i+2, maxPerBand)
	}
	return `INSERT INTO minhash_bands (workspace, band, memory) VALUES ` + strings.Join(rows, ", ") +
		` ON CONFLICT DO NOTHING`, strings.Join(bands, " UNION ALL ")
}()

// Insert adds the bands of a memory.
func Insert(t *sqldb.Tx, workspace, memory int64, bands []int64) error {
	if len(bands) == 0 {
		return nil
	}
	_, err := t.Exec(insertSQL, append([]any{workspace, memory}, toAny(bands)...)...)
	return err
}

// Delete removes bands of a memory.
func Delete(t *sqldb.Tx, workspace, memory int64, bands []int64) error {
	if len(bands) == 0 {
		return nil
	}
	_, err := t.Exec(`DELETE FROM minhash_bands WHERE workspace = ?1 AND memory = ?2 AND `+
		fmt.Sprintf(t.Dialect.InList, "band", 3), workspace, memory, sqldb.EncodeInts(bands))
	return err
}

// deleteBatchSize is the number of bands that DeleteSome deletes.
const deleteBatchSize = 2000

// DeleteSome deletes some bands of a workspace, and reports whether there may be more.
func DeleteSome(t *sqldb.Tx, workspace int64) (more bool, err error) {
	n, err := t.Exec(`DELETE FROM minhash_bands WHERE workspace = ?1 AND (band, memory) IN (SELECT band, memory
		FROM minhash_bands WHERE workspace = ?1 LIMIT ?2)`, workspace, deleteBatchSize)
	return n == deleteBatchSize, err
}

// Replace replaces the bands of a memory.
func Replace(t *sqldb.Tx, workspace, memory int64, was, now []int64) error {
	if err := Delete(t, workspace, memory, slices.DeleteFunc(slices.Clone(was), func(band int64) bool {
		return slices.Contains(now, band)
	})); err != nil {
		return err
	}
	return Insert(t, workspace, memory, now)
}

// Candidates returns the row ids of the memories that share the most of the bands, newest first.
func Candidates(t *sqldb.Tx, workspace int64, bands []int64) ([]int64, error) {
	if len(bands) == 0 {
		return nil, nil
	}
	var list []int64
	if err := t.QueryFew(selectSQL, append([]any{workspace}, toAny(bands)...), sqldb.ScanInts(&list)); err != nil {
		return nil, err
	}
	shared := map[int64]int{}
	for _, memory := range list {
		shared[memory]++
	}
	list = slices.SortedFunc(maps.Keys(shared), func(a, b int64) int {
		return cmp.Or(shared[b]-shared[a], cmp.Compare(b, a))
	})
	return list[:min(len(list), maxCandidates)], nil
}

func toAny(list []int64) []any {
	args := make([]any, len(list))
	for i, n := range list {
		args[i] = n
	}
	return args
}
