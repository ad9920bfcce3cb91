// Package contextio ends reads, calls and pauses: with a context, or when their caller wants the reader back.
package contextio

import (
	"context"
	"io"
)

type reader struct {
	ctx context.Context
	r   io.Reader
}

// NewReader returns a reader that reads until the context ends.
func NewReader(ctx context.Context, r io.Reader) io.Reader { return reader{ctx, r} }

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
