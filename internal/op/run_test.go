package op_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

var ctx = context.Background()

func args(json string) func() (op.Args, error) {
	return func() (op.Args, error) { return op.Args{JSON: []byte(json)}, nil }
}

func TestNobodysBodyIsReadBeforeAdmission(t *testing.T) {
	t.Parallel()
	read := false
	_, err := host(&toy{}).Run(ctx, search.Op, &op.Call{Proof: "stranger"}, func() (op.Args, error) { read = true; return op.Args{}, nil })
	if !loci.Is(err, loci.InvalidKey) || read {
		t.Errorf("%v; read: %v", err, read)
	}
}

func TestRunRefusesWhatIsNeitherCredentialNorField(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o    *op.Op
		call op.Call
		code loci.Code
	}{
		"an agent id of the client":     {search.Op, op.Call{AgentID: true}, loci.InvalidQuery},
		"another actor":                 {search.Op, op.Call{Actor: "user"}, loci.InvalidQuery},
		"an agent":                      {search.Op, op.Call{Actor: "agent"}, ""},
		"an operation of agents by one": {follow.Op, op.Call{Actor: "agent"}, ""},
		"and by a person":               {follow.Op, op.Call{}, loci.Forbidden},
		"and by an agent's cookie":      {follow.Op, op.Call{Actor: "agent", Kind: loci.CookieCredential}, loci.Forbidden},
		"a token that widens itself":    {change.Op, op.Call{Kind: loci.TokenCredential}, loci.InsufficientScope},
		"a token that does not":         {search.Op, op.Call{Kind: loci.TokenCredential}, ""},
		"a cookie from another origin":  {search.Op, op.Call{Kind: loci.CookieCredential, Foreign: true}, loci.Forbidden},
		"a key from another origin":     {search.Op, op.Call{Foreign: true}, ""},
	} {
		_, err := host(&toy{}).Run(ctx, c.o, &c.call, args(`{"thingId":"x","name":"y"}`))
		if c.o == search.Op || c.o == follow.Op {
			_, err = host(&toy{}).Run(ctx, c.o, &c.call, args(""))
		}
		if c.code == "" && err != nil || c.code != "" && !loci.Is(err, c.code) {
			t.Errorf("%s: %v, want %q", name, err, c.code)
		}
	}
}

func TestAPanicIsAnAnswerAndALineInTheLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	h := host(&toy{})
	h.Log = slog.New(slog.NewTextHandler(&log, nil))
	_, err := h.Run(ctx, search.Op, &op.Call{RequestID: "r1"}, args(`{"kinds":["fact","note","task","decision","preference","architecture"]}`))
	if !loci.Is(err, loci.InternalError) || strings.Contains(loci.AsError(err).Message, "mistake") {
		t.Errorf("%v", err)
	}
	if !strings.Contains(log.String(), "a mistake of ours") || !strings.Contains(log.String(), "request=r1") {
		t.Errorf("the log says %s", log.String())
	}
}

func TestTheLogHoldsNoContents(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	h := host(&toy{})
	h.Log = slog.New(slog.NewTextHandler(&log, nil))
	for _, body := range []string{`{"thingId":"private","name":"private"}`, `{"private":"private"}`} {
		h.Run(ctx, make_.Op, &op.Call{Proof: "private"}, args(body))
	}
	if strings.Contains(log.String(), "private") || strings.Count(log.String(), "\n") != 2 {
		t.Errorf("the log says %s", log.String())
	}
}

func TestIdempotencyKeysAreForPostsAndPrintable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		key  string
		o    *op.Op
		code loci.Code
	}{
		{strings.Repeat("x", 200), make_.Op, ""}, {strings.Repeat("x", 201), make_.Op, loci.InvalidQuery}, {"a\tb", make_.Op, loci.InvalidQuery},
		{"ä", make_.Op, loci.InvalidQuery}, {"~ a,b", make_.Op, ""}, {"ä", change.Op, ""},
		{"", make_.Op, loci.InvalidQuery}, {"", change.Op, ""},
	} {
		_, err := host(&toy{}).Run(ctx, c.o, &op.Call{IdempotencyKey: c.key, Keys: 1}, args(`{"thingId":"x","name":"y"}`))
		if c.code == "" && err != nil || c.code != "" && !loci.Is(err, c.code) {
			t.Errorf("%q: %v, want %q", c.key, err, c.code)
		}
	}
}

func TestEveryOutputBeginsWithOK(t *testing.T) {
	t.Parallel()
	for want, out := range map[string]any{
		`{"ok":true}`:                                   loci.Nothing{},
		`{"ok":true,"thing":"a<b>&c"}`:                  reply{"a<b>&c"},
		`{"ok":true,"error":"","code":"","message":""}`: op.Problem{},
	} {
		if got, err := op.Encode(out); err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}

func TestDoCallsWithTypes(t *testing.T) {
	t.Parallel()
	out, err := op.Do(ctx, host(&toy{}), &op.Call{}, make_, thing{ID: "7", Name: "n"})
	if err != nil || out.Thing != "7" {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestStreamsGiveTheirEvents(t *testing.T) {
	t.Parallel()
	out, err := host(&toy{}).Run(ctx, follow.Op, &op.Call{Actor: "agent"}, args(""))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for e, err := range out.(op.Stream) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.(reply).Thing)
	}
	if strings.Join(got, " ") != "one two" {
		t.Error(got)
	}
}

func TestALineThatIsWrongStopsTheProgram(t *testing.T) {
	t.Parallel()
	for name, add := range map[string]func(*op.Table){
		"no access":          func(x *op.Table) { op.Add(x, "a.b", "GET /x", "S.", 0, op.Core, (*toy).Find) },
		"no reach":           func(x *op.Table) { op.Add(x, "a.b", "GET /x", "S.", op.Account, 0, (*toy).Find) },
		"no summary":         func(x *op.Table) { op.Add(x, "a.b", "GET /x", "", op.Account, op.Core, (*toy).Find) },
		"no such path field": func(x *op.Table) { op.Add(x, "a.b", "GET /x/{id}", "S.", op.Account, op.Core, (*toy).Find) },
		"twice": func(x *op.Table) {
			op.Add(x, "a.b", "GET /x", "S.", op.Account, op.Core, (*toy).Find)
			op.Add(x, "a.b", "GET /y", "S.", op.Account, op.Core, (*toy).Find)
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

func TestRunChargesTheWeightOnce(t *testing.T) {
	t.Parallel()
	var charged []int
	h := host(&toy{})
	h.Charge = func(_ context.Context, who *loci.Actor, more int) { charged = append(charged, more) }
	for _, call := range []op.Call{{}, {Again: true}} {
		if _, err := h.Run(ctx, search.Op, &call, args(`{"limit":4}`)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.Run(ctx, search.Op, &op.Call{}, args(`{"limit":1}`)); err != nil {
		t.Fatal(err)
	}
	if len(charged) != 1 || charged[0] != 3 {
		t.Errorf("%v is charged, want 3", charged)
	}
}
