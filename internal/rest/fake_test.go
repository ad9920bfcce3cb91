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
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/rest"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A fakeService is a service of a few operations that return their inputs.
type fakeService struct {
	mu   sync.Mutex
	call op.Call
	left chan struct{} // closed when the client of a stream has left
}

type createInput struct {
	ID      loci.ID         `json:"thingId" id:"thing"`
	Content string          `json:"content"`
	Kind    loci.MemoryType `json:"kind,omitzero"`
	Within  *nested         `json:"within,omitzero"`
	Note    *loci.Title     `json:"note,omitzero"`
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

type createOutput struct {
	Thing record `json:"thing"`
	loci.Creation
}

type keyOutput struct {
	Secret string `json:"secret"`
}

type getInput struct {
	ID loci.ID `json:"thingId" id:"thing"`
}

type settings struct {
	WorkspaceID loci.ID `json:"workspace_id,omitzero" id:"workspace" jsonschema:"Which one"`
	Quiet       *bool   `json:"quiet,omitzero"`
	Within      *nested `json:"within,omitzero"`

	Extra loci.Metadata `json:"extra,omitzero" jsonschema:"Anything"`
}

type findInput struct {
	Kinds []loci.MemoryType `json:"kinds,omitzero" jsonschema:"Only these"`
	Query loci.Query        `json:"query,omitzero"`
	Limit loci.Limit        `json:"limit,omitzero"`
}

type findOutput struct {
	Things []record `json:"things"`
	Query  string   `json:"query"`
}

type signedIn struct {
	Name string `json:"name"`

	session loci.SignIn
}

func (s signedIn) Cookie() loci.SignIn { return s.session }

type signIn struct {
	Name string `json:"name"`
}

type event struct {
	Text string `json:"text"`

	id string
}

func (event) EventName() string { return "said" }
func (e event) EventID() string { return e.id }

func (t *fakeService) Get(_ context.Context, _ *identity.Actor, in getInput) (record, error) {
	return record{ID: string(in.ID), Content: "a < b"}, nil
}

func (t *fakeService) Create(_ context.Context, _ *identity.Actor, in createInput) (createOutput, error) {
	out := createOutput{Thing: record{string(in.ID), in.Content, in.Within}}
	out.SetCreated(in.Content != "known")
	return out, nil
}

func (t *fakeService) Change(_ context.Context, _ *identity.Actor, in createInput) (loci.Empty, error) {
	return loci.Empty{}, nil
}

func (t *fakeService) Find(_ context.Context, _ *identity.Actor, in findInput) (findOutput, error) {
	switch in.Query {
	case "busy":
		return findOutput{}, &loci.Error{Code: loci.CodeRateLimited, Message: "wait",
			RetryAfter: 2100 * time.Millisecond}
	case "used up":
		return findOutput{}, loci.NewError(loci.CodeQuotaExceeded)
	case "down":
		return findOutput{}, loci.NewError(loci.CodeUnavailable)
	case "full":
		return findOutput{}, loci.NewError(loci.CodeStorageFull)
	case "large":
		return findOutput{[]record{}, strings.Repeat("x", 100_000)}, nil
	case "broken":
		return findOutput{}, errors.New("a secret of ours")
	case "panic":
		panic("a mistake of ours")
	}
	return findOutput{[]record{}, string(in.Query)}, nil
}

func (t *fakeService) Remove(context.Context, *identity.Actor, getInput) (loci.Empty, error) {
	return loci.Empty{}, nil
}

func (t *fakeService) Set(_ context.Context, _ *identity.Actor, in settings) (settings, error) {
	return in, nil
}

func (t *fakeService) Key(context.Context, *identity.Actor, loci.Empty) (keyOutput, error) {
	return keyOutput{"k"}, nil
}

func (t *fakeService) SignIn(_ context.Context, _ *identity.Actor, in signIn) (signedIn, error) {
	return signedIn{in.Name, loci.SignIn{Secret: "s3cret", MaxAge: time.Hour}}, nil
}

func (t *fakeService) SignOut(context.Context, *identity.Actor, loci.Empty) (signedIn, error) {
	return signedIn{}, nil
}

func (t *fakeService) Follow(ctx context.Context, _ *identity.Actor, in findInput) (iter.Seq2[event, error], error) {
	if in.Query == "refused" {
		return nil, loci.NewError(loci.CodeNotFound)
	}
	return func(yield func(event, error) bool) {
		if in.Query == "silent" {
			return
		}
		if in.Query == "early" {
			yield(event{}, loci.NewError(loci.CodeUnavailable))
			return
		}
		if !yield(event{"one\ntwo", "7"}, nil) || in.Query == "late" && !yield(event{}, errors.New("lost")) ||
			!yield(event{"three", ""}, nil) {
			return
		}
		if in.Query == "forever" {
			<-ctx.Done()
			close(t.left)
		}
	}, nil
}

func table() *op.Table {
	t := &op.Table{}
	op.Add(t, "thing.get", "GET /v1/things/{thingId}", "Read a thing.", op.Account, op.ToolCore, (*fakeService).Get)
	op.Add(t, "thing.create", "POST /v1/things/{thingId}", "Make a thing.", op.Account, op.ToolCore,
		(*fakeService).Create, op.MayCreate)
	op.Add(t, "thing.update", "PATCH /v1/things/{thingId}", "Change a thing.", op.Account, op.ToolCore,
		(*fakeService).Change, op.IfMatch)
	op.Add(t, "thing.delete", "DELETE /v1/things/{thingId}", "Remove a thing.", op.Person, op.ToolCore,
		(*fakeService).Remove, op.IfMatch, op.Destructive)
	op.Add(t, "thing.find", "GET /v1/things", "Find things.", op.Account, op.ToolCore, (*fakeService).Find)
	op.Add(t, "key.create", "POST /v1/keys", "Make a key.", op.Person, op.NoTool, (*fakeService).Key, op.Creates)
	op.Add(t, "settings.set", "PUT /v1/settings?workspace_id", "Replace the settings.", op.Account, op.ToolCore,
		(*fakeService).Set)
	op.Add(t, "settings.reset", "POST /v1/settings/reset", "Restore the settings later.", op.Account, op.NoTool,
		(*fakeService).Set, op.Accepts)
	op.Add(t, "auth.login", "POST /v1/auth/login", "Sign in.", op.Public, op.BrowserOnly, (*fakeService).SignIn)
	op.Add(t, "auth.logout", "POST /v1/auth/logout", "Sign out.", op.Account, op.BrowserOnly, (*fakeService).SignOut)
	op.AddStream(t, "thing.follow", "GET /v1/events", "Follow things.", op.Agent, op.NoTool, (*fakeService).Follow)
	return t
}

// admit admits the key "good" and the cookie "fresh".
func (t *fakeService) admit(_ context.Context, o *op.Op, c *op.Call) (*identity.Actor, error) {
	t.mu.Lock()
	t.call = *c
	t.mu.Unlock()
	kind := c.CredentialKind
	switch {
	case o.Access == op.Public:
		return &identity.Actor{}, nil
	case c.Credential == "":
		return nil, loci.NewError(loci.CodeMissingAPIKey)
	case c.Credential != "good" && c.Credential != "fresh":
		return nil, loci.NewError(loci.CodeInvalidKey)
	case kind == "":
		kind = identity.CredentialKey
	}
	c.Quota = &op.Quota{Limit: 10, Remaining: 9, Reset: 90500 * time.Millisecond}
	return &identity.Actor{UserID: "ann", CredentialKind: kind}, nil
}

func (t *fakeService) lastCall() op.Call {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.call
}

func options(t *fakeService) rest.Options {
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	table := table()
	return rest.Options{
		ServiceVersion: "1.2.3",
		Table:          table, Log: quiet,
		Host: &op.Host{Service: t, Admit: t.admit, Log: quiet},
		Site: httpapi.Site{
			PublicURL:      "https://loci.example.org",
			Origins:        httpapi.NewOrigins("https://loci.example.org", "https://app.example.org"),
			TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
		},
		ExtraRoutes: []httpapi.Route{{Pattern: "/extra", Handler: http.NotFoundHandler(), Reason: "a test"}, {
			Pattern: "GET /page/", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.WriteString(w, "page")
			}), Reason: "a test",
		}},
	}
}

// serve runs the transport on a real listener.
func serve(t *testing.T) (*fakeService, string) {
	t.Helper()
	s := &fakeService{left: make(chan struct{})}
	server := httptest.NewUnstartedServer(rest.New(options(s)))
	server.Config.DisableGeneralOptionsHandler = true
	server.Start()
	t.Cleanup(server.Close)
	return s, server.URL
}

// An response is a response that was read.
type response struct {
	*http.Response
	text string
}

func (a response) code(t *testing.T) string {
	t.Helper()
	var p op.ErrorBody
	if err := json.Unmarshal([]byte(a.text), &p); err != nil || p.Error != p.Code || p.Message == "" ||
		p.RequestID == "" || p.RequestID != a.Header.Get("X-Request-Id") {
		t.Errorf("not the shape of an error: %q, %v", a.text, err)
	}
	testenv.Equal(t, a.Header.Get("Content-Type"), "application/json", "an error of type")
	return string(p.Code)
}

// roundTrip sends lines as they are: "GET /path", then headers, then perhaps an
// empty line and the body. Host and, unless it is given, Content-Length are added.
func roundTrip(t *testing.T, url, text string) response {
	t.Helper()
	c := testenv.Must(net.Dial("tcp", strings.TrimPrefix(url, "http://")))(t)
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	head, body, _ := strings.Cut(text, "\n\n")
	line, headers, _ := strings.Cut(head, "\n")
	raw := line + " HTTP/1.1\r\nHost: loci.test\r\nConnection: close\r\n"
	if headers != "" {
		raw += strings.ReplaceAll(headers, "\n", "\r\n") + "\r\n"
	}
	if low := strings.ToLower(headers); body != "" && !strings.Contains(low, "content-length") &&
		!strings.Contains(low, "transfer-encoding") {
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
	return response{res, string(b)}
}
