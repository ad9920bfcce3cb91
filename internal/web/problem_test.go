package web_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/testenv"
)

const browserAccept = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"

// faults are requests that are refused, whatever the transport.
var faults = []struct {
	method, path, body string
	kind               string // Content-Type of the body
	signIn             string
	status             int
	text               string
}{
	{"GET", "/nothing", "", "", "", 404, "Nothing is at this address"},
	{"GET", "/v1/nothing", "", "", "", 404, "Nothing is at this address"},
	{"GET", "/v1//me", "", "", "", 404, "Nothing is at this address"},
	{"GET", "/v1/auth/login", "", "", "", 405, "This address has no page"},
	{"GET", "/signout", "", "", "", 405, "This address has no page"},
	{"GET", "/v1/workspaces?limit=0", "", "", "ann", 400, "limit must be at least 1"},
	{"GET", "/v1/workspaces?x=1", "", "", "ann", 400, "unknown field"},
	{"GET", "/v1/me", "", "", "", 401, `href="/signin">Sign in`},
	{"GET", "/v1/me", "", "", "old", 401, `href="/signin">Sign in`},
	{"POST", "/v1/auth/login", "email=x", "application/x-www-form-urlencoded", "", 415, "The request failed"},
	{"GET", "/v1/me", "", "", "busy", 429, "Try again in 3 seconds."},
	{"GET", "/v1/me", "", "", "broken", 500, "Name the request r-17"},
}

func TestBrowserGetsErrorsAsPages(t *testing.T) {
	t.Parallel()
	for _, c := range faults {
		b := newBrowser(t, true)
		b.header.Set("Accept", browserAccept)
		b.header.Set("X-Request-Id", "r-17")
		b.header.Set("Content-Type", c.kind)
		if c.signIn != "" {
			b.signIn(c.signIn)
		}
		got := b.do(c.method, c.path, c.body)
		got.expect(t, c.status, c.path, c.text, "<!doctype html>", "<h1>", "request <code>r-17</code>")
		testenv.Equal(t, got.Header.Get("Content-Type"), "text/html; charset=utf-8", c.path)
		testenv.Contains(t, got.Header.Get("Content-Security-Policy"), "default-src 'none'", c.path)
		if c.status == 405 && got.Header.Get("Allow") == "" || c.status == 429 && got.Header.Get("Retry-After") != "3" {
			t.Errorf("%s: %v", c.path, got.Header)
		}
		if strings.Contains(got.text, "of ours") {
			t.Errorf("%s tells what is inside: %s", c.path, got.text)
		}
	}
}

func TestProgramGetsErrorsAsJSON(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]http.Header{
		"none":    {},
		"curl":    {"Accept": {"*/*"}},
		"JSON":    {"Accept": {"application/json"}},
		"axios":   {"Accept": {"application/json, text/plain, */*"}},
		"both":    {"Accept": {"text/html, application/json"}},
		"refused": {"Accept": {"text/html;q=0"}},
		"broken":  {"Accept": {"text/html;q=x, text;;"}},
		"lower":   {"Accept": {"text/html;q=0.8", "application/json"}},
		"Java": {"Accept": {"text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"},
			"Authorization": {"Bearer bad"}},
		"stream":   {"Accept": {"text/event-stream"}},
		"MCP":      {"Accept": {"application/json, text/event-stream"}},
		"explicit": {"Accept": {"text/html;q=0.5, application/json;q=0.6"}},
	} {
		for _, c := range faults {
			b := newBrowser(t, true)
			b.header = header.Clone()
			b.header.Set("Content-Type", c.kind)
			if c.signIn != "" {
				b.signIn(c.signIn)
			}
			got := b.do(c.method, c.path, c.body)
			if got.Header.Get("Content-Type") != "application/json" || !strings.HasPrefix(got.raw, `{"error":"`) {
				t.Errorf("%s %s: %v %s", name, c.path, got.Header, got.raw)
			}
		}
	}
}

// forms of pages, with a fault each: what was typed stays, passwords never do.
func TestFormKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	secret := regexp.MustCompile(`value="(short|wrong horse battery)"`)
	for _, c := range []struct {
		path   string
		signIn string
		form   []string
		kept   []string
	}{
		{"/signin", "", []string{"email", "ann@example.com", "password", "wrong horse battery", "next", "/invite?id=1"},
			[]string{"ann@example.com", "/invite?id=1"}},
		{"/setup", "", []string{"token", "abc-1_2", "email", "ann@example.com", "name", "Ann", "password", "short"},
			[]string{"abc-1_2", "ann@example.com", "Ann"}},
		{"/register", "", []string{"email", "new@example.com", "name", "New", "ref", "code", "password", "short"},
			[]string{"new@example.com", "New", "code"}},
		{"/register", "", []string{"email", "taken@example.com", "name", "New", "password", password},
			[]string{"taken@example.com", "New"}},
		{"/register", "", []string{"email", "no address", "name", "New", "password", "short"},
			[]string{"no address", "New"}},
		{"/forgot", "", []string{"email", "x", "next", "/invite?id=1"}, []string{"x", "/invite?id=1"}},
		{"/reset", "", []string{"token", "t2", "password", "short"}, []string{"t2"}},
		{"/key", "ann", []string{"name", strings.Repeat("n", 201)}, []string{strings.Repeat("n", 201)}},
	} {
		b := newBrowser(t, true)
		if c.signIn != "" {
			b.signIn(c.signIn)
		}
		got := b.post(c.path, c.form...)
		if got.StatusCode < 400 || !strings.Contains(got.raw, `role="alert"`) {
			t.Errorf("%s: %d %s", c.path, got.StatusCode, got.text)
		}
		for _, value := range c.kept {
			testenv.Contains(t, got.text, `value="`+value+`"`, c.path)
		}
		if secret.MatchString(got.text) {
			t.Errorf("%s shows a password: %s", c.path, got.text)
		}
	}
}
