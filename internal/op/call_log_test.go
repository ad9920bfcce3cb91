package op_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
)

func TestCallLogHasNoErrorWhenClientLeaves(t *testing.T) {
	t.Parallel()
	for _, gone := range []bool{true, false} {
		ctx, leave := context.WithCancel(context.Background())
		defer leave()
		var log bytes.Buffer
		h := newHost(&fakeService{})
		h.Log = slog.New(slog.NewTextHandler(&log, nil))
		h.Admit = func(context.Context, *op.Op, *op.Call) (*identity.Actor, error) {
			if gone {
				leave()
			}
			return nil, fmt.Errorf("the store: %w", context.Canceled)
		}
		if _, err := h.Call(ctx, findOp.Op, &op.Call{}, op.Args{}); err == nil {
			t.Error("no error")
		}
		if got := strings.Contains(log.String(), "level=ERROR"); got == gone {
			t.Errorf("gone is %v: %s", gone, log.String())
		}
	}
}

func TestCallLogNamesCallerAndResult(t *testing.T) {
	t.Parallel()
	id := loci.NewID(time.Now())
	for _, c := range []struct {
		who       *identity.Actor
		err       error
		workspace loci.ID
		has, not  []string
	}{
		{&identity.Actor{UserID: "ann", CredentialID: "key-1", Email: "ann@example.com",
			CredentialKind: identity.CredentialKey},
			nil, id,
			[]string{"msg=call", "level=INFO", "op=place.get", "transport=rest", "method=GET", "request=r-1",
				"user=ann", "credential=key-1", "workspace=" + string(id), "status=200", "us="},
			[]string{"example.com", "msg=slow", "secret"}},
		{&identity.Actor{UserID: "ann", CredentialID: "key-1", CredentialKind: identity.CredentialKey}, nil,
			"a secret text",
			[]string{"status=200"}, []string{"secret", "workspace="}},
		{nil, loci.NewError(loci.CodeInvalidKey), id, []string{"status=401", "code=invalid_key"},
			[]string{"user=", "workspace="}},
		{&identity.Actor{UserID: "ann", CredentialKind: identity.CredentialKey},
			&loci.Error{Code: loci.CodeUnavailable, Err: errors.New("no route")}, id,
			[]string{"level=INFO msg=call", "status=503",
				"level=WARN msg=unavailable op=place.get request=r-1 err=\"no route\""}, []string{"ERROR"}},
		{&identity.Actor{UserID: "ann", CredentialKind: identity.CredentialKey}, errors.New("a flaw"), id,
			[]string{"level=ERROR msg=call", "status=500", "a flaw"}, []string{"unavailable"}},
	} {
		var log bytes.Buffer
		places := &op.Table{}
		get := op.Add(places, "place.get", "GET /places/{workspaceId}", "Get a place.", op.Account, op.ToolCore,
			func(struct{}, context.Context, *identity.Actor, loci.GetWorkspace) (loci.Empty, error) {
				return loci.Empty{}, c.err
			})
		h := &op.Host{Service: struct{}{}, Log: slog.New(slog.NewTextHandler(&log, nil)),
			Admit: func(context.Context, *op.Op, *op.Call) (*identity.Actor, error) {
				if c.who == nil {
					return nil, c.err
				}
				return c.who, nil
			}}
		_, err := h.Call(context.Background(), get.Op,
			&op.Call{Transport: "rest", RequestID: "r-1", Credential: "secret"},
			op.Args{Params: []op.Param{{Name: "workspaceId", Value: string(c.workspace)}}})
		if (err == nil) != (c.err == nil) {
			t.Errorf("%v: %v", c.err, err)
		}
		for _, s := range c.has {
			if !strings.Contains(log.String(), s) {
				t.Errorf("%v: no %s in %s", c.err, s, log.String())
			}
		}
		for _, s := range c.not {
			if strings.Contains(log.String(), s) {
				t.Errorf("%v: %s in %s", c.err, s, log.String())
			}
		}
	}
}

func TestCallLogAddsLineWhenCallIsSlow(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	h := newHost(&fakeService{})
	h.Log = slog.New(slog.NewTextHandler(&log, nil))
	admit := h.Admit
	h.Admit = func(ctx context.Context, o *op.Op, c *op.Call) (*identity.Actor, error) {
		time.Sleep(op.SlowCall)
		return admit(ctx, o, c)
	}
	if _, err := h.Call(context.Background(), findOp.Op, &op.Call{}, op.Args{}); err != nil {
		t.Fatal(err)
	}
	if got := log.String(); !strings.Contains(got, "level=WARN msg=slow op=thing.find") ||
		!strings.Contains(got, "user=ann") {
		t.Errorf("the log has %s", got)
	}
}
