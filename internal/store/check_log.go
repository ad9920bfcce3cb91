package store

import (
	"bytes"
	"maps"
	"math"
	"slices"

	"github.com/loci-memory/loci/internal/search"
)

// readLog reads which changes there are.
func (i *inspector) readLog() error {
	i.log, i.seqs = map[int64]logged{}, nil
	seq := int64(math.MinInt64)
	for n := inspectList; n == inspectList; {
		n = 0
		err := i.t.c.each(`SELECT seq, memory, gone FROM changes WHERE workspace = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3`, []any{i.workspace, seq, inspectList}, func(r row) error {
			var memory int64
			var gone bool
			err := r.Scan(&seq, &memory, &gone)
			i.seqs = append(i.seqs, logged{seq, memory, gone})
			i.log[memory] = i.seqs[len(i.seqs)-1]
			n++
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, memory := range slices.Sorted(maps.Keys(i.log)) {
		if !i.log[memory].gone && !i.exists(memory) {
			i.flaw(FlawIndex, i.id, i.reindex(memory), "the log of changes holds a document of row %d, which is gone", memory)
		}
	}
	return nil
}

func (i *inspector) reindex(rid int64) func(*SystemTx) (string, error) {
	return func(t *SystemTx) (string, error) { return t.reindex(i.workspace, rid) }
}

// unfolded compares the documents of the log with those that the rows make.
func (i *inspector) unfolded() error {
	for part := range slices.Chunk(i.seqs, inspectRows) {
		last := map[int64]search.Change{}
		for _, c := range i.readable(part) {
			if c.Seq == i.log[c.Memory].seq {
				last[c.Memory] = c
			}
		}
		err := i.read(slices.Sorted(maps.Keys(last)), func(m inspectedRow) error {
			c := last[m.rid]
			if c.Gone {
				i.flaw(FlawIndex, m.id, i.reindex(m.rid), "the log of changes says that it is gone")
			} else if !sameChange(c, m.change()) && m.damage() == "" {
				i.flaw(FlawIndex, m.id, i.reindex(m.rid), "its document in the log of changes is not that of its row")
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// readable returns the changes that can be read, and tells of the others, each
// of which makes the whole index one that cannot be.
func (i *inspector) readable(part []logged) (list []search.Change) {
	seqs := make([]int64, len(part))
	for n, l := range part {
		seqs[n] = l.seq
	}
	list, err := i.t.changes(i.workspace, seqs)
	if err == nil {
		return list
	}
	list = nil
	for _, l := range part {
		one, err := i.t.changes(i.workspace, []int64{l.seq})
		if err == nil {
			list = append(list, one...)
		} else if i.t.ctx.Err() == nil {
			i.flaw(FlawIndex, i.id, i.reindex(l.memory), "the log of changes has a row of row %d that cannot be read", l.memory)
		}
	}
	return list
}

func sameChange(a, b search.Change) bool {
	return a.Atlas == b.Atlas && a.Created == b.Created && a.ValidUntil == b.ValidUntil && a.Kind == b.Kind && a.Status == b.Status &&
		a.Verified == b.Verified && slices.Equal(a.Tags, b.Tags) && bytes.Equal(a.Document.Encode(), b.Document.Encode())
}

// lost tells of memories that no search finds, or any finds twice.
func (i *inspector) lost() error {
	for _, rid := range i.chosen() {
		what := ""
		if _, ok := i.log[rid]; !ok && i.places[rid] == 0 {
			what = "it is not in the index"
		} else if i.places[rid] > 1 {
			what = "it is in the index more than once"
		}
		if what != "" {
			if err := i.stale(rid, what); err != nil {
				return err
			}
		}
	}
	return nil
}
