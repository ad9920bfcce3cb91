package rest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/rest"
)

func TestMain(m *testing.M) {
	if client() {
		return
	}
	goleak.VerifyTestMain(m)
}

// A toy is a service of a few operations that answer with what they were asked.
type toy struct {
	mu   sync.Mutex
	call op.Call
	left chan struct{} // closed when the client of a stream has left
}

type thing struct {
	ID      string      `json:"thingId"`
	Content string      `json:"content"`
	Kind    loci.Kind   `json:"kind,omitzero"`
	Within  *nested     `json:"within,omitzero"`
	Note    *loci.Title `json:"note,omitzero"`
}

type nested struct {
	URI loci.SourceText `json:"uri" jsonschema:"Where it is"`
}

type record struct {
	ID      string  `json:"id"`
	Content string  `json:"content"`
	Within  *nested `json:"within,omitzero"`
}

// ETag identifies the toy record.
func (r record) ETag() string { return `"` + r.ID + `-1"` }

type made struct {
	Thing record `json:"thing"`

	existing bool
}

func (m made) Created() bool { return !m.existing }

type key struct {
	Secret string `json:"secret"`
}

func (key) Created() bool { return true }

type one struct {
	ID string `json:"thingId"`
}

type find struct {
	Kinds []loci.Kind `json:"kinds,omitzero" jsonschema:"Only these"`
	Query loci.Query  `json:"query,omitzero"`
	Limit loci.Limit  `json:"limit,omitzero"`
}

type found struct {
	Things []record `json:"things"`
	Query  string   `json:"query"`
}

type signedIn struct {
	Name string `json:"name"`

	session loci.Session
}

func (s signedIn) Cookie() loci.Session { return s.session }

type signIn struct {
	Name string `json:"name"`
}

type event struct {
	Text string `json:"text"`

	id string
}

func (event) EventName() string { return "said" }
func (e event) EventID() string { return e.id }

func (t *toy) Get(_ context.Context, _ *loci.Actor, in one) (record, error) {
	return record{ID: in.ID, Content: "a < b"}, nil
}

func (t *toy) Create(_ context.Context, _ *loci.Actor, in thing) (made, error) {
	return made{record{in.ID, in.Content, in.Within}, in.Content == "known"}, nil
}

func (t *toy) Change(_ context.Context, _ *loci.Actor, in thing) (loci.Nothing, error) {
	return loci.Nothing{}, nil
}

func (t *toy) Find(_ context.Context, _ *loci.Actor, in find) (found, error) {
	switch in.Query {
	case "busy":
		return found{}, &loci.Error{Code: loci.RateLimited, Message: "wait", Retry: 2100 * time.Millisecond}
	case "used up":
		return found{}, loci.Fail(loci.QuotaExceeded)
	case "down":
		return found{}, loci.Fail(loci.Unavailable)
	case "large":
		return found{[]record{}, strings.Repeat("x", 100_000)}, nil
	case "broken":
		return found{}, errors.New("a secret of ours")
	case "panic":
		panic("a mistake of ours")
	}
	return found{[]record{}, string(in.Query)}, nil
}

func (t *toy) Remove(context.Context, *loci.Actor, one) (loci.Nothing, error) {
	return loci.Nothing{}, nil
}

func (t *toy) Key(context.Context, *loci.Actor, loci.Nothing) (key, error) { return key{"k"}, nil }

func (t *toy) SignIn(_ context.Context, _ *loci.Actor, in signIn) (signedIn, error) {
	return signedIn{in.Name, loci.Session{Secret: "s3cret", MaxAge: time.Hour}}, nil
}

func (t *toy) SignOut(context.Context, *loci.Actor, loci.Nothing) (signedIn, error) {
	return signedIn{}, nil
}

func (t *toy) Follow(ctx context.Context, _ *loci.Actor, in find) (iter.Seq2[event, error], error) {
	if in.Query == "refused" {
		return nil, loci.Fail(loci.NotFound)
	}
	return func(yield func(event, error) bool) {
		if in.Query == "silent" {
			return
		}
		if in.Query == "early" {
			yield(event{}, loci.Fail(loci.Unavailable))
			return
		}
		if !yield(event{"one\ntwo", "7"}, nil) || in.Query == "late" && !yield(event{}, errors.New("lost")) || !yield(event{"three", ""}, nil) {
			return
		}
		if in.Query == "forever" {
			<-ctx.Done()
			close(t.left)
		}
	}, nil
}

// CheckSetup knows the token good.
func (t *toy) CheckSetup(_ context.Context, token string) error {
	if token != "abc-1_2" {
		return loci.Fail(loci.NotFound, "The link is used.")
	}
	return nil
}

// ViewInvitation shows a few invitations to the holder of their token.
func (t *toy) ViewInvitation(_ context.Context, _, id string,
	token loci.InvitationToken) (i loci.Invitation, inviter string, err error) {
	status, known := map[string]loci.InvitationStatus{"1": loci.Pending, "3": loci.Expired, "4": loci.Withdrew,
		"5": loci.Accepted}[id]
	if !known || token != "abc" {
		return i, "", loci.Fail(loci.NotFound)
	}
	return loci.Invitation{ID: id, WorkspaceName: "<Team>", Email: "cid@example.com", Role: loci.Member,
		Status: status}, "Ann", nil
}

func table() *op.Table {
	t := &op.Table{}
	op.Add(t, "thing.get", "GET /v1/things/{thingId}", "Read a thing.", op.Account, op.Core, (*toy).Get)
	op.Add(t, "thing.create", "POST /v1/things/{thingId}", "Make a thing.", op.Account, op.Core, (*toy).Create)
	op.Add(t, "thing.update", "PATCH /v1/things/{thingId}", "Change a thing.", op.Account, op.Core, (*toy).Change)
	op.Add(t, "thing.delete", "DELETE /v1/things/{thingId}", "Remove a thing.", op.Person, op.Core, (*toy).Remove)
	op.Add(t, "thing.find", "GET /v1/things", "Find things.", op.Account, op.Core, (*toy).Find)
	op.Add(t, "key.create", "POST /v1/keys", "Make a key.", op.Person, op.NoTool, (*toy).Key)
	op.Add(t, "auth.login", "POST /v1/auth/login", "Sign in.", op.Public, op.Browser, (*toy).SignIn)
	op.Add(t, "auth.logout", "POST /v1/auth/logout", "Sign out.", op.Account, op.Browser, (*toy).SignOut)
	op.AddStream(t, "thing.follow", "GET /v1/events", "Follow things.", op.Agent, op.NoTool, (*toy).Follow)
	return t
}

// admit knows whoever shows "good", and a cookie "fresh".
func (t *toy) admit(_ context.Context, o *op.Op, c *op.Call) (*loci.Actor, error) {
	t.mu.Lock()
	t.call = *c
	t.mu.Unlock()
	kind := c.Kind
	switch {
	case o.Access == op.Public:
		return &loci.Actor{}, nil
	case c.Proof == "":
		return nil, loci.Fail(loci.MissingAPIKey)
	case c.Proof != "good" && c.Proof != "fresh":
		return nil, loci.Fail(loci.InvalidKey)
	case kind == "":
		kind = loci.KeyCredential
	}
	c.Quota = &op.Quota{Limit: 10, Remaining: 9, Reset: 90500 * time.Millisecond}
	return &loci.Actor{UserID: "ann", Credential: kind}, nil
}

func (t *toy) asked() op.Call {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.call
}

func options(t *toy) rest.Options {
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	table := table()
	return rest.Options{
		ServiceVersion: "1.2.3",
		Table:          table, Log: quiet, Pages: t, PublicURL: "https://loci.example.org",
		Host:           &op.Host{Service: t, Admit: t.admit, Log: quiet},
		Origins:        []string{"https://app.example.org"},
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
		Extra: []rest.Route{{Pattern: "/extra", Handler: http.NotFoundHandler(), Reason: "a test"}, {
			Pattern: "GET /page/", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "page") }), Reason: "a test",
		}},
	}
}

// serve runs the door on a real listener.
func serve(t *testing.T) (*toy, string) {
	t.Helper()
	s := &toy{left: make(chan struct{})}
	server := httptest.NewUnstartedServer(rest.New(options(s)))
	server.Config.DisableGeneralOptionsHandler = true
	server.Start()
	t.Cleanup(server.Close)
	return s, server.URL
}

// An answer is a response that was read.
type answer struct {
	*http.Response
	text string
}

func (a answer) code(t *testing.T) string {
	t.Helper()
	var p op.Problem
	if err := json.Unmarshal([]byte(a.text), &p); err != nil || p.Error != p.Code || p.Message == "" || p.RequestID == "" || p.RequestID != a.Header.Get("X-Request-Id") {
		t.Errorf("not the shape of an error: %q, %v", a.text, err)
	}
	if got := a.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("an error of type %q", got)
	}
	return string(p.Code)
}

// ask sends lines as they are: "GET /path", then headers, then perhaps an
// empty line and the body. Host and, unless it is given, Content-Length are added.
func ask(t *testing.T, url, text string) answer {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	head, body, _ := strings.Cut(text, "\n\n")
	line, headers, _ := strings.Cut(head, "\n")
	raw := line + " HTTP/1.1\r\nHost: loci.test\r\nConnection: close\r\n"
	if headers != "" {
		raw += strings.ReplaceAll(headers, "\n", "\r\n") + "\r\n"
	}
	if low := strings.ToLower(headers); body != "" && !strings.Contains(low, "content-length") && !strings.Contains(low, "transfer-encoding") {
		raw += "Content-Length: " + itoa(len(body)) + "\r\n"
	}
	go io.WriteString(c, raw+"\r\n"+body)
	method, _, _ := strings.Cut(line, " ")
	res, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return answer{res, string(b)}
}
