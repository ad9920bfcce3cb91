package hook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/capture/delivery"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
)

// A remote runs the operations of a delivery by a caller.
type remote struct {
	caller op.Caller
	agent  bool
}

// SpoolName names the spool of a workspace.
func (t *Target) SpoolName(workspace loci.ID) string {
	if workspace == "" {
		return t.Folder
	}
	sum := sha256.Sum256([]byte(workspace))
	return t.Folder + "-" + hex.EncodeToString(sum[:4])
}

// service opens the target.
func (t *Target) service(ctx context.Context) (delivery.Service, error) {
	caller, err := t.Open(ctx)
	if err != nil {
		return nil, err
	}
	return remote{caller, t.AsAgent}, nil
}

func call[In, Out any](ctx context.Context, r remote, o op.TypedOp[In, Out], in In) (Out, error) {
	c := &op.Call{Transport: "command", RequestID: string(loci.NewID(time.Now()))}
	if r.agent {
		c.ActorHeader = op.ActorAgent
	}
	return op.Do(ctx, r.caller, c, o, in)
}

func (r remote) GetPolicy(ctx context.Context, in loci.GetPolicy) (loci.OnePolicy, error) {
	return call(ctx, r, service.AutoGet, in)
}

func (r remote) StartSession(ctx context.Context, in loci.StartSession) (loci.StartedSession, error) {
	return call(ctx, r, service.SessionStart, in)
}

func (r remote) SendEvent(ctx context.Context, in loci.SendEvent) (loci.ReceivedEvent, error) {
	return call(ctx, r, service.SessionEvent, in)
}

func (r remote) AccountStatus(ctx context.Context, in loci.Empty) (loci.AccountStatus, error) {
	return call(ctx, r, service.AccountStatus, in)
}

func (r remote) RecordAudit(ctx context.Context, in loci.RecordAudit) (loci.RecordedAudit, error) {
	return call(ctx, r, service.AutoAudit, in)
}
