package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/loci-memory/loci"
)

// A Tx is a transaction on behalf of one actor. It sees the workspaces that
// the actor belongs to, and that its credential was granted, and nothing
// else: every query of its methods is joined to them in the statement itself.
type Tx struct {
	ctx context.Context
	c   conn
	s   *Store
	who *loci.Actor
	now loci.Time

	reading  bool // outside of a transaction that writes
	asked    bool // the idempotency record was looked up
	resource string
	events   []Event
	changed  []int64 // workspaces whose keyword index has new rows
	waits    bool    // a memory waits for vectors
}

// Now returns the time of the transaction: one for all that it does.
func (t *Tx) Now() loci.Time { return t.now }

// Who returns the actor.
func (t *Tx) Who() *loci.Actor { return t.who }

// Emit tells the store's hearers of e once the transaction has committed.
func (t *Tx) Emit(e Event) { t.events = append(t.events, e) }

func (s *Store) begin(ctx context.Context, c conn, who *loci.Actor) *Tx {
	return &Tx{ctx: ctx, c: c, s: s, who: who, now: s.Now()}
}

// Read runs f on behalf of who, without changing anything.
func Read[Out any](ctx context.Context, s *Store, who *loci.Actor, f func(*Tx) (Out, error)) (out Out, err error) {
	if who.Once != nil {
		return Write(ctx, s, who, func(t *Tx) (Out, error) {
			out, err := f(t)
			if err != nil {
				return out, err
			}
			return out, t.once()
		})
	}
	err = s.db.read(ctx, who.UserID, func(c conn) error {
		t := s.begin(ctx, c, who)
		t.reading = true
		out, err = f(t)
		return err
	})
	countCorruptIndex(err)
	return out, err
}

// Write runs f on behalf of who in one transaction, and returns when it is
// durable. f may run twice: nothing but what it does to the transaction and
// Emit may leave it. With an Idempotency-Key the answer is stored in the same
// transaction, or was there already and is returned instead.
func Write[Out any](ctx context.Context, s *Store, who *loci.Actor, f func(*Tx) (Out, error)) (out Out, err error) {
	var t *Tx
	err = s.db.write(ctx, who.UserID, func(c conn) error {
		t = s.begin(ctx, c, who)
		made, err := f(t)
		if r, ok := errors.AsType[*replay](err); ok {
			return r.into(&out)
		}
		if err != nil {
			return err
		}
		out = made
		return t.keep(out)
	})
	if err != nil {
		countCorruptIndex(err)
		var none Out
		return none, err
	}
	s.publish(t)
	return out, nil
}

// publish tells what a committed transaction did.
func (s *Store) publish(t *Tx) {
	for _, e := range t.events {
		for _, hear := range s.hearers {
			hear(e)
		}
	}
	s.folds.noticed(t.changed)
	if t.waits {
		s.embedding.written()
	}
}

// System runs f without an actor, for the jobs of the service itself. The
// reason stands in the log of whoever asks why; a test lists every one.
func System[Out any](ctx context.Context, s *Store, reason string, f func(*SystemTx) (Out, error)) (out Out, err error) {
	var t *Tx
	err = s.db.write(ctx, "", func(c conn) error {
		t = s.begin(ctx, c, &loci.Actor{})
		out, err = f(&SystemTx{t})
		return err
	})
	if err != nil {
		countCorruptIndex(err)
		return out, fmt.Errorf("%s: %w", reason, err)
	}
	s.publish(t)
	return out, nil
}

// SystemRead is System for who changes nothing.
func SystemRead[Out any](ctx context.Context, s *Store, reason string, f func(*SystemTx) (Out, error)) (out Out, err error) {
	err = s.db.read(ctx, "", func(c conn) error {
		out, err = f(&SystemTx{s.begin(ctx, c, &loci.Actor{})})
		return err
	})
	if err != nil {
		countCorruptIndex(err)
		return out, fmt.Errorf("%s: %w", reason, err)
	}
	return out, nil
}

// A SystemTx is a transaction that no actor asked for.
type SystemTx struct{ t *Tx }

// Now returns the time of the transaction.
func (t *SystemTx) Now() loci.Time { return t.t.now }

// Emit tells the store's hearers of e once the transaction has committed.
func (t *SystemTx) Emit(e Event) { t.t.Emit(e) }

// mine joins rows of %[1]s, which have a column workspace, to the memberships
// of ?1, the actor, as m, and to the workspace as w.
func (t *Tx) mine(rows string) string {
	return ` JOIN members m ON m.workspace = ` + rows + ` AND m.user_id = ?1 ` + t.granted()
}

// memberships are the workspaces of ?1, the actor, as w, and the memberships in them, as m.
func (t *Tx) memberships() string {
	return ` (SELECT workspace, role FROM members WHERE user_id = ?1) AS m ` + t.granted()
}

func (t *Tx) granted() string {
	join := ` JOIN workspaces w ON w.rid = m.workspace `
	if t.who.Granted == nil {
		return join
	}
	return join + ` AND w.id IN (SELECT value FROM granted) `
}

// scoped begins a query that uses mine.
func (t *Tx) scoped(q string, args ...any) (string, []any) {
	args = append([]any{t.who.UserID}, args...)
	if t.who.Granted == nil {
		return q, args
	}
	values := make([]string, len(t.who.Granted))
	for i, id := range t.who.Granted {
		args = append(args, id)
		values[i] = fmt.Sprintf("(?%d)", len(args))
	}
	if len(values) == 0 {
		values = []string{"('')"}
	}
	return `WITH granted (value) AS (VALUES ` + strings.Join(values, ", ") + `) ` + q, args
}

func (t *Tx) one(q string, args []any, dest ...any) error {
	q, args = t.scoped(q, args...)
	return wrap(q, t.c.one(q, args, dest))
}

func (t *Tx) few(q string, args []any, f func(row) error) error {
	q, args = t.scoped(q, args...)
	return wrap(q, t.c.few(q, args, f))
}

func (t *Tx) each(q string, args []any, f func(row) error) error {
	q, args = t.scoped(q, args...)
	return wrap(q, t.c.each(q, args, f))
}

// exec runs a statement that is not scoped: its rows were reached by one that was.
func (t *Tx) exec(q string, args ...any) (int64, error) {
	n, err := t.c.exec(q, args)
	return n, wrap(q, err)
}

// into gathers the only column of a query, row ids for one.
func into(list *[]int64) func(row) error {
	return func(r row) error {
		*list = append(*list, 0)
		return r.Scan(&(*list)[len(*list)-1])
	}
}

// notFound turns the absence of a row into the answer that an id gets which
// names nothing within reach.
func notFound(err error) error {
	if errors.Is(err, errNoRow) {
		return loci.Fail(loci.NotFound)
	}
	return err
}

// texts reads and writes a list of texts in a column.
// noTexts is a column without texts.
const noTexts = "[]"

func texts(list []string) string {
	if len(list) == 0 {
		return noTexts
	}
	b, _ := json.Marshal(list) // strings always marshal
	return string(b)
}

func readTexts(column string) ([]string, error) {
	list := []string{}
	if column == noTexts {
		return list, nil
	}
	if strings.HasPrefix(column, `["`) && strings.HasSuffix(column, `"]`) && len(column) > 4 && !strings.Contains(column, `\`) {
		return strings.Split(column[2:len(column)-2], `","`), nil // as texts writes what needs no escape
	}
	err := json.Unmarshal([]byte(column), &list)
	return list, err
}

// snapshot runs f so that all its statements see one state of the database,
// which those of a reader of PostgreSQL otherwise do not.
func (t *Tx) snapshot(f func() error) error {
	if !t.reading || !t.s.db.dialect().locks {
		return f()
	}
	if _, err := t.exec(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`); err != nil {
		return err
	}
	defer t.exec(`ROLLBACK`) // where it fails, the pool closes the connection
	return f()
}

// locked ends a query whose rows of the tables stay where they are until the
// commit: for KEY SHARE beside others who read them so, for UPDATE alone. What
// only counts, a fold, goes on beside the former.
func (t *Tx) locked(how, tables string) string {
	if !t.s.db.dialect().locks {
		return ""
	}
	return " FOR " + how + " OF " + tables
}
