package op_test

import (
	"context"
	"io"
	"iter"
	"log/slog"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// A toy is a service that answers with what it was asked.
type toy struct{ asked *thing }

type thing struct {
	ID     string      `json:"thingId"`
	Name   loci.Name   `json:"name"`
	Kind   loci.Kind   `json:"kind,omitzero"`
	Tags   loci.Tags   `json:"tags,omitzero"`
	Size   loci.Limit  `json:"size,omitzero"`
	Weight float64     `json:"weight,omitzero"`
	Open   bool        `json:"open,omitzero"`
	When   loci.Time   `json:"when,omitzero"`
	Note   *loci.Title `json:"note,omitzero"`
	Within *nested     `json:"within,omitzero"`

	Heading *loci.OptionalTitle `json:"heading,omitzero"`
	Sure    *loci.Confidence    `json:"sure,omitzero"`
	Places  []nested            `json:"places,omitzero"`
}

type nested struct {
	URI      loci.SourceText `json:"uri"`
	Position *int64          `json:"position,omitzero"`
}

type reply struct {
	Thing string `json:"thing"`
}

type find struct {
	Kinds []loci.Kind    `json:"kinds,omitzero"`
	Limit loci.Limit     `json:"limit,omitzero"`
	Sure  loci.Confirmed `json:"sure,omitzero"`
}

// Cost weighs a question by how much it wants.
func (f find) Cost() int { return int(f.Limit) }

func (t *toy) Make(_ context.Context, _ *loci.Actor, in thing) (reply, error) {
	t.asked = &in
	return reply{in.ID}, nil
}

func (t *toy) Change(_ context.Context, _ *loci.Actor, in thing) (loci.Nothing, error) {
	t.asked = &in
	return loci.Nothing{}, nil
}

func (t *toy) Find(_ context.Context, _ *loci.Actor, in find) (reply, error) {
	if len(in.Kinds) == 6 {
		panic("a mistake of ours")
	}
	return reply{"found"}, nil
}

func (t *toy) Follow(context.Context, *loci.Actor, loci.Nothing) (iter.Seq2[reply, error], error) {
	return func(yield func(reply, error) bool) {
		_ = yield(reply{"one"}, nil) && yield(reply{"two"}, nil)
	}, nil
}

var (
	toys   = &op.Table{}
	make_  = op.Add(toys, "thing.make", "POST /things/{thingId}", "Make a thing.", op.Account, op.Core, (*toy).Make)
	change = op.Add(toys, "thing.change", "PATCH /things/{thingId}", "Change a thing.", op.Person, op.Core, (*toy).Change)
	search = op.Add(toys, "thing.find", "GET /things", "Find things.", op.Account, op.Core, (*toy).Find)
	follow = op.AddStream(toys, "thing.follow", "GET /events", "Follow things.", op.Agent, op.NoTool, (*toy).Follow)
)

// host admits ann, whatever she shows; a proof of "stranger" is refused.
func host(t *toy) *op.Host {
	return &op.Host{
		Service: t,
		Log:     slog.New(slog.NewTextHandler(io.Discard, nil)),
		Admit: func(_ context.Context, _ *op.Op, c *op.Call) (*loci.Actor, error) {
			if c.Proof == "stranger" {
				return nil, loci.Fail(loci.InvalidKey)
			}
			kind := c.Kind
			if kind == "" {
				kind = loci.KeyCredential
			}
			return &loci.Actor{UserID: "ann", Credential: kind}, nil
		},
	}
}
