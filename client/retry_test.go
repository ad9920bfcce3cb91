package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/testenv"
)

// A scriptedTransport returns its responses one after another; status 0 breaks the connection.
type scriptedTransport struct {
	answers []scriptedResponse
	calls   int
}

type scriptedResponse struct {
	status int
	after  string // Retry-After
	body   string
}

func (s *scriptedTransport) RoundTrip(*http.Request) (*http.Response, error) {
	a := s.answers[min(s.calls, len(s.answers)-1)]
	s.calls++
	if a.status == 0 {
		return nil, errors.New("connection reset")
	}
	h := http.Header{}
	if a.after != "" {
		h.Set("Retry-After", a.after)
	}
	return &http.Response{StatusCode: a.status, Status: http.StatusText(a.status), Header: h,
		Body: io.NopCloser(strings.NewReader(a.body))}, nil
}

const (
	busy  = `{"code":"unavailable","message":"Busy."}`
	quick = `{"code":"rate_limited","message":"Slower."}`
)

func TestDoRetriesOnlySafeRequests(t *testing.T) {
	t.Parallel()
	fine := scriptedResponse{200, "", "{}"}
	for name, c := range map[string]struct {
		method  string
		options []CallOption
		answers []scriptedResponse
		calls   int
		waited  time.Duration // at least
		fails   bool
	}{
		"a rate limit": {"POST", nil, []scriptedResponse{{429, "3", quick}, fine}, 2, 3 * time.Second, false},
		"a busy server": {"POST", nil, []scriptedResponse{{503, "1", busy}, {503, "1", busy}, fine}, 3,
			2 * time.Second, false},
		"without an end":           {"GET", nil, []scriptedResponse{{503, "1", busy}}, 4, 3 * time.Second, true},
		"a quota until next month": {"GET", nil, []scriptedResponse{{429, "86400", quick}}, 1, 0, true},
		"a date": {"GET", nil, []scriptedResponse{{429, "Sat, 01 Jan 2000 00:00:05 GMT", quick},
			fine}, 2, 5 * time.Second, false},
		"a read that broke": {"GET", nil, []scriptedResponse{{}, {502, "", "x"}, fine}, 3,
			300 * time.Millisecond, false},
		"a replacement that broke": {"PUT", nil, []scriptedResponse{{}, fine}, 2, 100 * time.Millisecond, false},
		"a write that broke":       {"POST", nil, []scriptedResponse{{}}, 1, 0, true},
		"a proxy without a server": {"POST", nil, []scriptedResponse{{503, "", "<html>"}}, 1, 0, true},
		"a keyed write that broke": {"POST", []CallOption{IdempotencyKey("k")}, []scriptedResponse{{}, fine}, 2,
			100 * time.Millisecond, false},
		"a header that cannot be sent": {"POST", []CallOption{IdempotencyKey("a\nb")}, []scriptedResponse{{}}, 0, 0,
			true},
		"a refusal": {"GET", nil, []scriptedResponse{{404, "", `{"code":"not_found"}`}}, 1, 0, true},
		"a mistake of the server's": {"GET", nil, []scriptedResponse{{500, "", `{"code":"internal_error"}`}}, 1, 0,
			true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &scriptedTransport{answers: c.answers}
				cl, err := New("https://loci.example.org", WithKey("k"), WithHTTP(&http.Client{Transport: s}))
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				_, err = cl.roundTrip(t.Context(), c.method, "/v1/x", nil, nil, c.options...)
				if took := time.Since(began); s.calls != c.calls || (err != nil) != c.fails || took < c.waited ||
					took > c.waited+time.Minute {
					t.Errorf("%d calls in %v: %v", s.calls, took, err)
				}
			})
		})
	}
}

func TestBackoffEndsWithContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scriptedTransport{answers: []scriptedResponse{{429, "10", quick}}}
		c, err := New("https://loci.example.org", WithHTTP(&http.Client{Transport: s}))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		short, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err = c.roundTrip(short, "GET", "/v1/x", nil, nil)
		if !loci.Is(err, loci.CodeRateLimited) || time.Since(began) != 0 ||
			loci.AsError(err).RetryAfter != 10*time.Second {
			t.Errorf("a wait beyond the deadline: %v after %v", err, time.Since(began))
		}
		leaving, leave := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, leave)
		if _, err = c.roundTrip(leaving, "GET", "/v1/x", nil, nil); err == nil || time.Since(began) != time.Second {
			t.Errorf("a caller who left: %v after %v", err, time.Since(began))
		}
	})
}

// endlessReader is a body without an end.
type endlessReader struct{}

func (endlessReader) Read(b []byte) (int, error) { return len(b), nil }

type endlessTransport struct{}

func (endlessTransport) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(endlessReader{})}, nil
}

func TestResponseSizeIsLimited(t *testing.T) {
	t.Parallel()
	c := testenv.Must(New("https://loci.example.org", WithHTTP(&http.Client{Transport: endlessTransport{}})))(t)
	if _, err := c.roundTrip(t.Context(), "GET", "/v1/x", nil, nil); !loci.Is(err, loci.CodePayloadTooLarge) {
		t.Errorf("%v", err)
	}
}

func TestAllItemsEndsWithErrorOfLaterPage(t *testing.T) {
	t.Parallel()
	c := testenv.Must(New("http://127.0.0.1", WithRetry(1, 0), WithHTTP(&http.Client{Transport: &scriptedTransport{
		answers: []scriptedResponse{{status: 200, body: `{"ok":true,"keys":[{"name":"a"}],"nextCursor":"c"}`},
			{status: 400, body: `{"ok":false,"code":"invalid_query","message":"no"}`}}}})))(t)
	var seen []string
	for k, err := range c.KeyListAll(t.Context(), loci.ListKeys{}) {
		seen = append(seen, k.Name)
		if len(seen) == 2 && !loci.Is(err, loci.CodeInvalidQuery) || len(seen) > 2 {
			t.Fatal(seen, err)
		}
	}
	testenv.Equal(t, len(seen), 2, seen)
}

// newTokenServer returns the address of a server that accepts one token, and the tokens that it received.
func newTokenServer(t *testing.T, accepted string) (address string, received func() []string) {
	t.Helper()
	var all []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		all = append(all, token)
		if body, _ := io.ReadAll(r.Body); string(body) != `{"content":"x"}` || token != accepted {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"ok":false,"code":"invalid_key","message":"It has ended."}`)
			return
		}
		_, _ = io.WriteString(w, `{"ok":true}`)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []string { return all }
}

// tokensInOrder is a source that returns the first token until it is rejected, and so on.
func tokensInOrder(tokens ...string) TokenSource {
	return func(_ context.Context, rejected string) (string, error) {
		if rejected != "" {
			tokens = tokens[slices.Index(tokens, rejected)+1:]
		}
		if len(tokens) == 0 {
			return "", errors.New("no token is left")
		}
		return tokens[0], nil
	}
}

func TestCallIsRepeatedOnceWithAnotherToken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tokens, sent []string
		fails        string
	}{
		"the first is accepted": {tokens: []string{"good"}, sent: []string{"good"}},
		"an expired one":        {tokens: []string{"old", "good"}, sent: []string{"old", "good"}},
		"two expired ones": {tokens: []string{"old", "older", "good"}, sent: []string{"old", "older"},
			fails: "ended"},
		"no other":            {tokens: []string{"old"}, sent: []string{"old"}, fails: "no token is left"},
		"none":                {fails: "no token is left"},
		"a broken one":        {tokens: []string{"a\nb"}, fails: "invalid character"},
		"a broken second one": {tokens: []string{"old", "a\nb"}, sent: []string{"old"}, fails: "invalid character"},
	} {
		address, sent := newTokenServer(t, "good")
		client, err := New(address, WithTokenSource(tokensInOrder(c.tokens...)))
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Do(t.Context(), http.MethodPost, "/v1/memories", []byte(`{"content":"x"}`))
		if c.fails == "" && err != nil || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) ||
			!slices.Equal(sent(), c.sent) {
			t.Errorf("%s: %v, sent %q", name, err, sent())
		}
	}
}
