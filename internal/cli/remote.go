package cli

import (
	"context"
	"net/http"

	"github.com/loci-memory/loci/client"
	"github.com/loci-memory/loci/internal/op"
)

// A remote runs operations on a server.
type remote struct{ client *client.Client }

// Call checks the input as the server will, and sends it.
func (r remote) Call(ctx context.Context, o *op.Op, c *op.Call, a op.Args) ([]byte, error) {
	in, err := o.Canonical(a)
	if err != nil {
		return nil, err
	}
	var answer http.Header
	options := []client.CallOption{client.IdempotencyKey(c.IdempotencyKey), client.IfMatch(c.IfMatch),
		client.RequestID(c.RequestID), client.WithResponseHeader(&answer)}
	if c.ActorHeader == "agent" {
		options = append(options, client.AsAgent())
	}
	raw, err := r.client.Do(ctx, o.Method, o.Path, in, options...)
	c.ETag = answer.Get("ETag")
	c.Replayed = answer.Get("Idempotency-Replayed") == "true"
	return raw, err
}
