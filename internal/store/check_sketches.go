package store

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
)

// inspectWindow is of how many memories the sketches are held at once. Each
// window costs a walk over all rows of the workspace, which lie in another order.
const inspectWindow = 1 << 17

func (i *inspector) sketches() error {
	if !i.small() {
		return nil
	}
	from := int64(math.MinInt64)
	window := cmp.Or(i.window, inspectWindow)
	for start := 0; start == 0 || start < len(i.rids); start += window {
		end, to := min(start+window, len(i.rids)), int64(math.MaxInt64)
		if end < len(i.rids) {
			to = i.rids[end] - 1
		}
		have, err := i.bands(from, to)
		if err != nil {
			return err
		}
		for part := range slices.Chunk(i.rids[start:end], inspectRows) {
			err := i.read(part, func(m inspectedRow) error {
				got, want := have[m.rid], m.sketch()
				if slices.Sort(got); !slices.Equal(got, want) && m.damage() == "" {
					i.flaw(FlawSketches, m.id, i.resketch(m.rid, got), "it is found by %d bands, of which %d are its own; its text has %d", len(got), common(got, want), len(want))
				}
				return nil
			})
			if err != nil {
				return err
			}
			for _, rid := range part { // also one that cannot be read
				delete(have, rid)
			}
		}
		for _, rid := range slices.Sorted(maps.Keys(have)) {
			i.flaw(FlawSketches, i.id, i.resketch(rid, have[rid]), "%d bands are of row %d, which is gone", len(have[rid]), rid)
		}
		from = to + 1 // of no memory beyond the last window
	}
	return nil
}

func common(a, b []int64) (n int) {
	for _, x := range a {
		if slices.Contains(b, x) {
			n++
		}
	}
	return n
}

// bands reads by what memories with numbers from and to are found.
func (i *inspector) bands(from, to int64) (map[int64][]int64, error) {
	have := map[int64][]int64{}
	band, memory := int64(math.MinInt64), int64(math.MinInt64)
	for n := inspectList; n == inspectList; {
		n = 0
		err := i.t.c.each(`SELECT band, memory FROM sketches WHERE workspace = ?1 AND (band, memory) > (?2, ?3) ORDER BY band, memory LIMIT ?4`,
			[]any{i.workspace, band, memory, inspectList}, func(r row) error {
				err := r.Scan(&band, &memory)
				if n++; memory >= from && memory <= to {
					have[memory] = append(have[memory], band)
				}
				return err
			})
		if err != nil {
			return nil, err
		}
	}
	return have, nil
}

// resketch makes the bands of a memory those of its text. had are those it had.
func (i *inspector) resketch(rid int64, had []int64) func(*SystemTx) (string, error) {
	return func(t *SystemTx) (string, error) {
		m, err := t.row(rid)
		if err != nil && err != errNoRow {
			return "", err
		}
		_, err = t.t.exec(`DELETE FROM sketches WHERE workspace = ?1 AND memory = ?2 AND `+fmt.Sprintf(t.t.s.db.dialect().in, "band", 3), i.workspace, rid, integers(had))
		if err != nil || m.rid == 0 || m.workspace != i.workspace {
			return "removed them", err
		}
		w := &Workspace{t: t.t, rid: i.workspace}
		return "made anew", w.addSketch(rid, m.sketch())
	}
}
