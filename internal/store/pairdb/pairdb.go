// Package pairdb keeps the pairs of memories that push and pull have copied between a local database and a server.
package pairdb

import (
	"context"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// A Place is a side of a pair.
type Place int

// The sides: the local database, and the server.
const (
	Here Place = iota
	There
)

// Other returns the other side.
func (p Place) Other() Place { return 1 - p }

// A Pair is a memory and its copy.
type Pair struct {
	Workspace loci.ID    // on the server
	ID        [2]loci.ID // by place; empty until the memory exists
	State     [2]string  // hashes of both memories at the last copy

	// Writing is the side of a copy that was begun. Pending has the states through which it leads, the last one at its
	// end. It is empty where no copy is unfinished.
	Writing Place
	Pending []string

	// Sent is the hash of the text of a memory that is being created. SentAfter is the time of the newest memory on
	// that side before.
	Sent      string
	SentAfter loci.Time

	rowID int64
}

// Pairs are the pairs of a user of the local database with one account on a server.
type Pairs struct {
	db            *sqldb.Handle
	user, account loci.ID
}

// New returns the pairs of a user with an account.
func New(db *sqldb.Handle, user, account loci.ID) *Pairs { return &Pairs{db, user, account} }

// All returns all pairs, the oldest first.
func (s *Pairs) All(ctx context.Context) ([]*Pair, error) {
	return sqldb.SystemRead(ctx, s.db, "read the pairs of push and pull", func(t *sqldb.Tx) (list []*Pair, err error) {
		err = t.Query(`SELECT row_id, remote_workspace, local_id, remote_id, local_state, remote_state, writing, pending,
				sent, sent_after FROM sync_pairs WHERE user_id = ?1 AND account = ?2 ORDER BY row_id`,
			[]any{s.user, s.account}, func(r sqldb.Row) error {
				p, err := scan(r)
				list = append(list, p)
				return err
			})
		return list, err
	})
}

// thereName is the value of the column writing for There. That for Here is empty.
const thereName = "there"

func scan(r sqldb.Row) (*Pair, error) {
	var p Pair
	var writing, pending string
	err := r.Scan(&p.rowID, &p.Workspace, &p.ID[Here], &p.ID[There], &p.State[Here], &p.State[There], &writing,
		&pending, &p.Sent, &p.SentAfter)
	p.Pending = strings.Fields(pending)
	if writing == thereName {
		p.Writing = There
	}
	return &p, err
}

// Save stores new and changed pairs in one transaction.
func (s *Pairs) Save(ctx context.Context, pairs ...*Pair) error {
	if len(pairs) == 0 {
		return nil
	}
	rowIDs, err := sqldb.System(ctx, s.db, "save pairs of push and pull", func(t *sqldb.Tx) (ids []int64, err error) {
		for _, p := range pairs {
			id, err := s.save(t, p)
			if err != nil {
				return nil, err
			}
			ids = append(ids, id)
		}
		return ids, nil
	})
	if err != nil {
		return err
	}
	for i, id := range rowIDs { // the transaction may run several times, and is committed now
		pairs[i].rowID = id
	}
	return nil
}

func (s *Pairs) save(t *sqldb.Tx, p *Pair) (id int64, err error) {
	writing := ""
	if p.Writing == There {
		writing = thereName
	}
	args := []any{p.Workspace, p.ID[Here], p.ID[There], p.State[Here], p.State[There], writing,
		strings.Join(p.Pending, " "), p.Sent, p.SentAfter, s.user, s.account}
	if p.rowID != 0 {
		_, err := t.Exec(`UPDATE sync_pairs SET remote_workspace = ?1, local_id = ?2, remote_id = ?3, local_state = ?4,
			remote_state = ?5, writing = ?6, pending = ?7, sent = ?8, sent_after = ?9
			WHERE user_id = ?10 AND account = ?11 AND row_id = ?12`, append(args, p.rowID)...)
		return p.rowID, err
	}
	err = t.QueryRow(`INSERT INTO sync_pairs (remote_workspace, local_id, remote_id, local_state, remote_state, writing,
		pending, sent, sent_after, user_id, account) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
		RETURNING row_id`, args, []any{&id})
	return id, err
}

// Delete deletes a pair, but neither of its memories.
func (s *Pairs) Delete(ctx context.Context, p *Pair) error {
	_, err := sqldb.System(ctx, s.db, "delete a pair of push and pull", func(t *sqldb.Tx) (int64, error) {
		return t.Exec(`DELETE FROM sync_pairs WHERE user_id = ?1 AND account = ?2 AND row_id = ?3`, s.user, s.account,
			p.rowID)
	})
	return err
}
