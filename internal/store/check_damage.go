package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/search"
)

// corruptReads counts the statements that met damage in the file of the database.
var corruptReads atomic.Int64

// CorruptReads returns how many statements of this process the database refused
// because its file is damaged.
func CorruptReads() int64 { return corruptReads.Load() }

// corruptIndexReads counts the transactions that met a damaged keyword index.
var corruptIndexReads atomic.Int64

// CorruptIndexReads returns how many searches and jobs of this process failed because
// a keyword index is damaged, which a repair makes anew.
func CorruptIndexReads() int64 { return corruptIndexReads.Load() }

// countCorruptIndex counts err where it says that a keyword index is damaged.
func countCorruptIndex(err error) {
	if errors.Is(err, search.ErrCorrupt) {
		corruptIndexReads.Add(1)
	}
}

// corrupt reports whether the database says that its file is damaged.
func corrupt(err error) bool {
	switch sqliteCode(err) & 0xff {
	case sqliteCorrupt, sqliteNotADatabase:
		return true
	}
	switch state(err) {
	case "XX001", "XX002": // data_corrupted, index_corrupted
		return true
	}
	return false
}

// cannotRead returns what kept a row from being read, in words without its contents.
// It is empty where err says nothing about the row: others are in the way, the caller
// left, or the database is gone.
func cannotRead(err error) string {
	var connect *pgconn.ConnectError
	_, told := errors.AsType[*loci.Error](err)
	switch {
	case err == nil, told, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.As(err, &connect):
		return ""
	case corrupt(err), sqliteCode(err)&0xff == sqliteIO:
		return rootCause(err).Error()
	case errors.Is(err, errColumn):
		return "a column holds what does not belong there"
	}
	return ""
}

func rootCause(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}

// attempt runs f, and returns why the database could not read what f asked for, or
// any other error as one. What comes after it can still read.
func (i *inspector) attempt(f func() error) (why string, err error) {
	mark := func(q string) error {
		if !i.t.s.db.dialect().locks {
			return nil // a failed statement of SQLite leaves its transaction as it was
		}
		_, err := i.t.exec(q)
		return err
	}
	if err := mark(`SAVEPOINT attempt`); err != nil {
		return "", err
	}
	if err = f(); err == nil {
		return "", mark(`RELEASE SAVEPOINT attempt`)
	}
	if why = cannotRead(err); why == "" {
		return "", err
	}
	return why, errors.Join(mark(`ROLLBACK TO SAVEPOINT attempt`), mark(`RELEASE SAVEPOINT attempt`))
}

// batches calls f with some memories at a time. Where it cannot read them it is called
// with each alone, and those that it still cannot read are kept for unreadable.
func (i *inspector) batches(rids []int64, f func(part []int64) error) error {
	for part := range slices.Chunk(rids, inspectRows) {
		told, more := len(i.flaws), i.more
		why, err := i.attempt(func() error { return f(part) })
		if err != nil {
			return err
		}
		if why == "" {
			continue
		}
		i.flaws, i.more = i.flaws[:told], more // they are found again
		for _, rid := range part {
			why, err := i.attempt(func() error { return f([]int64{rid}) })
			if err != nil {
				return err
			}
			if _, known := i.unread[rid]; why != "" && !known {
				i.unread[rid] = why
			}
		}
	}
	return nil
}

// unreadable tells of the memories that could not be read as a whole. Their ids come
// from an index, which is another place in the file.
func (i *inspector) unreadable() error {
	if len(i.unread) == 0 {
		return nil
	}
	ids := map[int64]string{}
	_, err := i.attempt(func() error {
		return i.listed(func(rid int64, id string) {
			if _, ok := i.unread[rid]; ok {
				ids[rid] = id
			}
		})
	})
	for _, rid := range slices.Sorted(maps.Keys(i.unread)) {
		if ids[rid] != "" {
			i.flaw(FlawRows, ids[rid], nil, "it cannot be read: %s", i.unread[rid])
		} else {
			i.flaw(FlawRows, i.id, nil, "row %d of the memories cannot be read: %s", rid, i.unread[rid])
		}
	}
	return err
}

// list lists the memories, by an index that has all it needs, or where that cannot be
// read by the rows themselves.
func (i *inspector) list() error {
	i.rids = nil
	why, err := i.attempt(func() error {
		return i.listed(func(rid int64, _ string) { i.rids = append(i.rids, rid) })
	})
	if err != nil {
		return err
	}
	if why != "" {
		i.flaw(FlawStructure, i.id, nil, "an index of the table memories cannot be read: %s", why)
		i.rids = nil
		last := int64(math.MinInt64)
		for n := inspectList; n == inspectList; {
			n = 0
			err := i.t.c.each(`SELECT rid FROM memories WHERE +workspace = ?1 AND rid > ?2 ORDER BY rid LIMIT ?3`,
				[]any{i.workspace, last, inspectList}, func(r row) error {
					err := r.Scan(&last)
					i.rids = append(i.rids, last)
					n++
					return err
				})
			if err != nil {
				return err
			}
		}
	}
	slices.Sort(i.rids)
	return nil
}

// listed calls f with each memory of the workspace, in the order of an index.
func (i *inspector) listed(f func(rid int64, id string)) error {
	status, at, id := -1<<31, int64(math.MinInt64), ""
	for n := inspectList; n == inspectList; {
		n = 0
		err := i.t.c.each(`SELECT rid, status, created_at, id FROM memories WHERE workspace = ?1 AND (status, created_at, id) > (?2, ?3, ?4)
			ORDER BY status, created_at, id LIMIT ?5`, []any{i.workspace, status, at, id, inspectList}, func(r row) error {
			var rid int64
			err := r.Scan(&rid, &status, &at, &id)
			f(rid, id)
			n++
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// A step is a part of an inspection that goes on without the others.
type step struct {
	name string
	do   []func() error // each needs those before it
}

func (i *inspector) steps() []step {
	return []step{
		{"list of memories", []func() error{i.list}},
		{"keyword index", []func() error{i.readLog, i.segments, i.unfolded, i.lost}},
		{"counters", []func() error{i.counters}},
		{"near duplicates", []func() error{i.sketches}},
		{"vectors", []func() error{i.vectors}},
		{"memories", []func() error{i.rows}},
		{"memories that cannot be read", []func() error{i.unreadable}},
	}
}

// take takes a step. Where the database cannot read what it needs, that is a flaw, and
// the next step follows.
func (i *inspector) take(s step) error {
	why, err := i.attempt(func() error {
		for _, do := range s.do {
			if err := do(); err != nil {
				return err
			}
		}
		return nil
	})
	if why != "" {
		i.flaw(FlawStructure, i.id, nil, "%s", fmt.Sprintf("the %s of the workspace cannot be looked at: %s", s.name, why))
	}
	return err
}
