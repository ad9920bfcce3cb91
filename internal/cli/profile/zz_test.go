package profile

import (
	"context"
	"testing"
	"time"
)

type lateCancel struct {
	context.Context
	n int
}

func (c *lateCancel) Err() error {
	c.n++
	if c.n > 0 {
		return context.Canceled
	}
	return nil
}

func TestZZLeak(t *testing.T) {
	s := newStore(t)
	c := &lateCancel{Context: context.Background()}
	_, err := s.lock(c)
	t.Log(err, c.n)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	unlock, err := s.lock(ctx)
	t.Log(unlock != nil, err)
}
