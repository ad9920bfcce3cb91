package web_test

import (
	"strings"
	"testing"
)

// TestConsentIsLogged checks the line of each visit of the authorization page: who decided what, and why it failed.
func TestConsentIsLogged(t *testing.T) {
	t.Parallel()
	who := "user=ann credential=sign-in"
	for _, c := range []struct {
		name string
		call func(*browser)
		want string
	}{
		{"asked", func(b *browser) { b.get(authorize + "app") },
			"level=INFO msg=call op=oauth.authorize transport=page method=GET " + who + ` status=200 code=""`},
		{"allowed", func(b *browser) { b.do("POST", consent, answerOf("app", "allow", "own")) },
			"level=INFO msg=call op=oauth.authorize transport=page method=POST " + who + ` status=303 code=""`},
		{"denied", func(b *browser) { b.do("POST", consent, answerOf("app", "deny")) },
			"method=POST " + who + " status=303 code=access_denied"},
		{"client at fault", func(b *browser) { b.get(authorize + "fault") },
			"method=GET " + who + " status=303 code=invalid_query"},
		{"unknown client", func(b *browser) { b.get(authorize + "none") },
			"method=GET " + who + " status=400 code=invalid_query"},
		{"no database", func(b *browser) { b.get(authorize + "down") },
			"method=GET " + who + " status=503 code=unavailable"},
	} {
		b := newConsentBrowser(t, true, personal)
		c.call(b)
		var line string
		for l := range strings.Lines(b.log.String()) {
			if strings.Contains(l, "msg=call op=oauth.authorize") {
				line += withoutFields(l, "time", "request", "us")
			}
		}
		if !strings.Contains(line, c.want) || strings.Count(line, "\n") != 1 || strings.Contains(line, "The App") {
			t.Errorf("%s: %s, want %s", c.name, line, c.want)
		}
	}
}

// withoutFields removes some fields of a line of the log.
func withoutFields(line string, names ...string) string {
	var kept []string
	for _, field := range strings.Split(line, " ") {
		name, _, _ := strings.Cut(field, "=")
		drop := false
		for _, n := range names {
			drop = drop || name == n
		}
		if !drop {
			kept = append(kept, field)
		}
	}
	return strings.Join(kept, " ")
}
