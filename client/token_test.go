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

	"github.com/loci-memory/loci"
)

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

func TestNewRejectsTokensOverPlainHTTPAndBesideKey(t *testing.T) {
	t.Parallel()
	tokens := WithTokenSource(tokensInOrder("good"))
	for name, c := range map[string]struct {
		address string
		options []Option
		ok      bool
	}{
		"loopback":       {"http://127.0.0.1:7007", []Option{tokens}, true},
		"https":          {"https://loci.example.org", []Option{tokens}, true},
		"plain":          {"http://loci.example.org", []Option{tokens}, false},
		"plain, allowed": {"http://loci.example.org", []Option{tokens, WithPlainHTTP()}, true},
		"with a key":     {"https://loci.example.org", []Option{tokens, WithKey("k")}, false},
	} {
		if _, err := New(c.address, c.options...); (err == nil) != c.ok || err != nil && !loci.Is(err,
			loci.CodeInvalidQuery) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
