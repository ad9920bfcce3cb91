package store

import (
	"context"
	"time"
)

// Patient returns options by which callers wait for one another that long.
func Patient(o Options, d time.Duration) Options {
	o.patience = d
	return o
}

// An Exec runs a statement in a transaction.
type Exec func(q string, args ...any) error

// Raw runs f in a bare transaction of the store's.
func Raw(s *Store, f func(Exec) error) error {
	return s.db.write(context.Background(), func(c conn) error {
		return f(func(q string, args ...any) error { _, err := c.exec(q, args); return err })
	})
}
