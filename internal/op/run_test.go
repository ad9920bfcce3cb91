package op_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/testenv"
)

var ctx = context.Background()

func args(json string) func() (op.Args, error) {
	return func() (op.Args, error) { return op.Args{JSON: []byte(json)}, nil }
}

func TestRunReadsNoBodyBeforeAdmission(t *testing.T) {
	t.Parallel()
	read := false
	_, err := newHost(&fakeService{}).Run(ctx, findOp.Op, &op.Call{Credential: "stranger"}, func() (op.Args, error) {
		read = true
		return op.Args{}, nil
	})
	if !loci.Is(err, loci.CodeInvalidKey) || read {
		t.Errorf("%v; read: %v", err, read)
	}
}

func TestRunRejectsInvalidHeaders(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o    *op.Op
		call op.Call
		code loci.Code
	}{
		"an agent id of the client": {findOp.Op, op.Call{AgentIDSent: true}, loci.CodeInvalidQuery},
		"another actor":             {findOp.Op, op.Call{ActorHeader: "user"}, loci.CodeInvalidQuery},
		"an agent by a cookie": {findOp.Op,
			op.Call{ActorHeader: "agent", CredentialKind: identity.CredentialCookie}, loci.CodeForbidden},
		"another actor by a token": {findOp.Op,
			op.Call{ActorHeader: "user", CredentialKind: identity.CredentialToken}, loci.CodeForbidden},
		"an agent":                      {findOp.Op, op.Call{ActorHeader: "agent"}, ""},
		"an operation of agents by one": {followOp.Op, op.Call{ActorHeader: "agent"}, ""},
		"and by a person":               {followOp.Op, op.Call{}, loci.CodeForbidden},
		"and by an agent's cookie": {followOp.Op,
			op.Call{ActorHeader: "agent", CredentialKind: identity.CredentialCookie}, loci.CodeForbidden},
		"a token that widens itself": {changeOp.Op, op.Call{CredentialKind: identity.CredentialToken},
			loci.CodeInsufficientScope},
		"an agent by a token of the whole account": {findOp.Op,
			op.Call{ActorHeader: "agent", CredentialKind: identity.CredentialAccount}, ""},
		"an agent by a token for some workspaces": {findOp.Op, op.Call{ActorHeader: "agent",
			Transport: op.TransportREST, CredentialKind: identity.CredentialToken}, loci.CodeForbidden},
		"an operation of agents by a token for some workspaces": {followOp.Op, op.Call{Transport: op.TransportREST,
			CredentialKind: identity.CredentialToken}, loci.CodeForbidden},
		"an operation of agents by such a token over MCP": {followOp.Op, op.Call{Transport: op.TransportMCP,
			CredentialKind: identity.CredentialToken}, ""},
		"an operation of agents by a cookie over MCP": {followOp.Op, op.Call{Transport: op.TransportMCP,
			CredentialKind: identity.CredentialCookie}, loci.CodeForbidden},
		"a token of the whole account": {changeOp.Op, op.Call{CredentialKind: identity.CredentialAccount}, ""},
		"a token that does not":        {findOp.Op, op.Call{CredentialKind: identity.CredentialToken}, ""},
		"a cookie from another origin": {findOp.Op,
			op.Call{CredentialKind: identity.CredentialCookie, CrossOrigin: true},
			loci.CodeForbidden},
		"a key from another origin": {findOp.Op, op.Call{CrossOrigin: true}, ""},
	} {
		_, err := newHost(&fakeService{}).Run(ctx, c.o, &c.call, args(`{"thingId":"x","name":"y"}`))
		if c.o == findOp.Op || c.o == followOp.Op {
			_, err = newHost(&fakeService{}).Run(ctx, c.o, &c.call, args(""))
		}
		if c.code == "" && err != nil || c.code != "" && !loci.Is(err, c.code) {
			t.Errorf("%s: %v, want %q", name, err, c.code)
		}
	}
}

func TestCallLogHoldsNoContent(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	h := newHost(&fakeService{})
	h.Log = slog.New(slog.NewTextHandler(&log, nil))
	for _, body := range []string{`{"thingId":"private","name":"private"}`, `{"private":"private"}`} {
		h.Run(ctx, makeOp.Op, &op.Call{Credential: "private"}, args(body))
	}
	if strings.Contains(log.String(), "private") || strings.Count(log.String(), "\n") != 2 {
		t.Errorf("the log says %s", log.String())
	}
}

func TestRunChecksIdempotencyKeyOfPosts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		key  string
		o    *op.Op
		code loci.Code
	}{
		{strings.Repeat("x", 200), makeOp.Op, ""}, {strings.Repeat("x", 201), makeOp.Op, loci.CodeInvalidQuery},
		{"a\tb", makeOp.Op, loci.CodeInvalidQuery},
		{"ä", makeOp.Op, loci.CodeInvalidQuery}, {"~ a,b", makeOp.Op, ""}, {"ä", changeOp.Op, ""},
		{"", makeOp.Op, loci.CodeInvalidQuery}, {"", changeOp.Op, ""},
	} {
		_, err := newHost(&fakeService{}).Run(ctx, c.o, &op.Call{IdempotencyKey: c.key, IdempotencyKeyCount: 1},
			args(`{"thingId":"x","name":"y"}`))
		if c.code == "" && err != nil || c.code != "" && !loci.Is(err, c.code) {
			t.Errorf("%q: %v, want %q", c.key, err, c.code)
		}
	}
}

func TestEncodeBeginsWithOK(t *testing.T) {
	t.Parallel()
	for want, out := range map[string]any{
		`{"ok":true}`:                                   loci.Empty{},
		`{"ok":true,"thing":"a<b>&c"}`:                  reply{"a<b>&c"},
		`{"ok":true,"error":"","code":"","message":""}`: op.ErrorBody{},
	} {
		if got, err := op.Encode(out); err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
	if got, err := op.Encode(struct{ F float64 }{math.NaN()}); err == nil {
		t.Errorf("NaN is %s", got)
	}
}

func TestDoReturnsTypedOutput(t *testing.T) {
	t.Parallel()
	out, err := op.Do(ctx, newHost(&fakeService{}), &op.Call{}, makeOp, thing{ID: "7", Name: "n"})
	if err != nil || out.Thing != "7" {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestStreamYieldsEvents(t *testing.T) {
	t.Parallel()
	var got []string
	c := &op.Call{ActorHeader: "agent", Send: func(e any) (bool, error) {
		got = append(got, e.(reply).Thing)
		return true, nil
	}}
	_, err := newHost(&fakeService{}).Run(ctx, followOp.Op, c, args(""))
	if err != nil || strings.Join(got, " ") != "one two" {
		t.Error(err, got)
	}
}

func TestStreamEndsWhenServerCloses(t *testing.T) {
	t.Parallel()
	h := newHost(&fakeService{})
	closing, end := context.WithCancel(ctx)
	h.Closing = closing
	table := &op.Table{}
	follow := op.AddStream(table, "thing.follow", "GET /events", "Follow things.", op.Account, op.NoTool,
		func(_ *fakeService, ctx context.Context, _ *identity.Actor, _ loci.Empty) (iter.Seq2[reply, error], error) {
			return func(yield func(reply, error) bool) {
				yield(reply{"one"}, nil)
				<-ctx.Done()
				yield(reply{}, ctx.Err())
			}, nil
		})
	sent := 0
	_, err := h.Run(ctx, follow.Op, &op.Call{Send: func(any) (bool, error) { sent++; end(); return true, nil }},
		args(""))
	if err != nil || sent != 1 {
		t.Errorf("%v after %d events", err, sent)
	}
	_, err = h.Run(ctx, follow.Op, &op.Call{Send: func(any) (bool, error) { sent++; return true, nil }}, args(""))
	if e := loci.AsError(err); e.Code != loci.CodeUnavailable || e.RetryAfter == 0 || sent != 1 {
		t.Errorf("a stream that begins while the server closes: %v, %d events", err, sent)
	}
}

// TestRunLogsPanicWithoutItsValue panics with values that quote a user's text, and with an error of the runtime.
func TestRunLogsPanicWithoutItsValue(t *testing.T) {
	t.Parallel()
	var index []int
	for want, cause := range map[string]func(){
		"panic: string":                            func() { panic("a text of a user") },
		"panic: *errors.errorString":               func() { panic(errors.New("a text of a user")) },
		"panic: runtime error: index out of range": func() { index[0]++ },
	} {
		var log bytes.Buffer
		h := newHost(&fakeService{})
		h.Log = slog.New(slog.NewTextHandler(&log, nil))
		c := &op.Call{ActorHeader: "agent", RequestID: "r1",
			Send: func(any) (bool, error) { cause(); return true, nil }}
		_, err := h.Run(ctx, followOp.Op, c, args(""))
		if !loci.Is(err, loci.CodeInternalError) || strings.Contains(loci.AsError(err).Message, "user") {
			t.Errorf("%v", err)
		}
		for _, s := range []string{want, "run_test.go", "request=r1"} {
			testenv.Contains(t, log.String(), s)
		}
		if strings.Contains(log.String(), "a text of a user") {
			t.Errorf("the log says %s", &log)
		}
	}
}

func TestAddPanicsWhenLineIsWrong(t *testing.T) {
	t.Parallel()
	for name, add := range map[string]func(*op.Table){
		"no access": func(x *op.Table) {
			op.Add(x, "a.b", "GET /x", "S.", 0, op.ToolCore, (*fakeService).Find)
		},
		"no reach": func(x *op.Table) {
			op.Add(x, "a.b", "GET /x", "S.", op.Account, 0, (*fakeService).Find)
		},
		"no summary": func(x *op.Table) {
			op.Add(x, "a.b", "GET /x", "", op.Account, op.ToolCore, (*fakeService).Find)
		},
		"no such path field": func(x *op.Table) {
			op.Add(x, "a.b", "GET /x/{id}", "S.", op.Account, op.ToolCore, (*fakeService).Find)
		},
		"a GET that accepts": func(x *op.Table) {
			op.Add(x, "a.b", "GET /x", "S.", op.Account, op.ToolCore, (*fakeService).Find, op.Accepts)
		},
		"a query field of a GET": func(x *op.Table) {
			op.Add(x, "a.b", "GET /x?limit", "S.", op.Account, op.ToolCore, (*fakeService).Find)
		},
		"an unknown query field": func(x *op.Table) {
			op.Add(x, "a.b", "PUT /x?limits", "S.", op.Account, op.ToolCore, (*fakeService).Find)
		},
		"a read that destroys": func(x *op.Table) {
			op.Add(x, "a.b", "GET /x", "S.", op.Account, op.ToolCore, (*fakeService).Find, op.Destructive)
		},
		"a GET that says Read": func(x *op.Table) {
			op.Add(x, "a.b", "GET /x", "S.", op.Account, op.ToolCore, (*fakeService).Find, op.Read)
		},
		"an entity tag of no record": func(x *op.Table) {
			op.Add(x, "a.b", "POST /x", "S.", op.Account, op.ToolCore, (*fakeService).Find, op.IfMatch)
		},
		"nothing created": func(x *op.Table) {
			op.Add(x, "a.b", "POST /x", "S.", op.Account, op.ToolCore, (*fakeService).Find, op.MayCreate)
		},
		"twice": func(x *op.Table) {
			op.Add(x, "a.b", "GET /x", "S.", op.Account, op.ToolCore, (*fakeService).Find)
			op.Add(x, "a.b", "GET /y", "S.", op.Account, op.ToolCore, (*fakeService).Find)
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: nothing happens", name)
				}
			}()
			add(&op.Table{})
		}()
	}
}

func TestRunChargesCostOnce(t *testing.T) {
	t.Parallel()
	var charged []int
	h := newHost(&fakeService{})
	h.Charge = func(_ context.Context, actor *identity.Actor, more int) { charged = append(charged, more) }
	for _, call := range []op.Call{{}, {Continuation: true}} {
		if _, err := h.Run(ctx, findOp.Op, &call, args(`{"limit":4}`)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.Run(ctx, findOp.Op, &op.Call{}, args(`{"limit":1}`)); err != nil {
		t.Fatal(err)
	}
	if len(charged) != 1 || charged[0] != 3 {
		t.Errorf("%v is charged, want 3", charged)
	}
}
