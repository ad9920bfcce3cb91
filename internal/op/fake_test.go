package op_test

import (
	"context"
	"io"
	"iter"
	"log/slog"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
)

// A fakeService is a service that answers with what it was asked.
type fakeService struct{ lastInput *thing }

type thing struct {
	ID     loci.ID         `json:"thingId" id:"thing"`
	Name   loci.Name       `json:"name"`
	Kind   loci.MemoryType `json:"kind,omitzero"`
	Tags   loci.Tags       `json:"tags,omitzero"`
	Size   loci.Limit      `json:"size,omitzero"`
	Weight float64         `json:"weight,omitzero"`
	Open   bool            `json:"open,omitzero"`
	When   loci.Time       `json:"when,omitzero"`
	Note   *loci.Title     `json:"note,omitzero"`
	Within *nested         `json:"within,omitzero"`

	Heading *loci.OptionalTitle `json:"heading,omitzero"`
	Sure    *loci.Confidence    `json:"sure,omitzero"`
	Places  []nested            `json:"places,omitzero"`
	Extra   loci.Metadata       `json:"extra,omitzero"`
}

type nested struct {
	URI      loci.SourceText `json:"uri"`
	Position *int64          `json:"position,omitzero"`
}

type reply struct {
	Thing string `json:"thing"`
}

type find struct {
	Kinds []loci.MemoryType `json:"kinds,omitzero"`
	Limit loci.Limit        `json:"limit,omitzero"`
	Sure  loci.Confirmed    `json:"sure,omitzero"`
}

// Cost weighs a question by how much it wants.
func (f find) Cost() int { return int(f.Limit) }

func (t *fakeService) Make(_ context.Context, _ *identity.Actor, in thing) (reply, error) {
	t.lastInput = &in
	return reply{string(in.ID)}, nil
}

func (t *fakeService) Change(_ context.Context, _ *identity.Actor, in thing) (loci.Empty, error) {
	t.lastInput = &in
	return loci.Empty{}, nil
}

func (t *fakeService) Find(context.Context, *identity.Actor, find) (reply, error) {
	return reply{"found"}, nil
}

func (t *fakeService) Follow(context.Context, *identity.Actor, loci.Empty) (iter.Seq2[reply, error], error) {
	return func(yield func(reply, error) bool) {
		_ = yield(reply{"one"}, nil) && yield(reply{"two"}, nil)
	}, nil
}

var (
	fakeTable = &op.Table{}
	makeOp    = op.Add(fakeTable, "thing.make", "POST /things/{thingId}", "Make a thing.", op.Account, op.ToolCore,
		(*fakeService).Make)
	changeOp = op.Add(fakeTable, "thing.change", "PATCH /things/{thingId}", "Change a thing.", op.Person, op.ToolCore,
		(*fakeService).Change)
	findOp = op.Add(fakeTable, "thing.find", "GET /things", "Find things.", op.Account, op.ToolCore,
		(*fakeService).Find)
	followOp = op.AddStream(fakeTable, "thing.follow", "GET /events", "Follow things.", op.Agent, op.NoTool,
		(*fakeService).Follow)
)

// newHost admits ann, whatever she shows; a proof of "stranger" is refused.
func newHost(t *fakeService) *op.Host {
	return &op.Host{
		Service: t,
		Log:     slog.New(slog.NewTextHandler(io.Discard, nil)),
		Admit: func(_ context.Context, _ *op.Op, c *op.Call) (*identity.Actor, error) {
			if c.Credential == "stranger" {
				return nil, loci.NewError(loci.CodeInvalidKey)
			}
			kind := c.CredentialKind
			if kind == "" {
				kind = identity.CredentialKey
			}
			return &identity.Actor{UserID: "ann", CredentialKind: kind}, nil
		},
	}
}
