package pathglob

import (
	"strings"
	"testing"
)

func TestMatchFollowsTheSyntax(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern string
		yes, no []string
	}{
		{"secret/**", []string{"/home/ann/secret", "/home/ann/secret/", "/home/ann/secret/a/b", "secret/x", "secret",
			`C:\work\secret\x`, "/home/ann/x/../secret/y"}, []string{"/home/ann/secrets/a", "/home/secret.txt", "", "/"}},
		{"/home/*/private/**", []string{"/home/ann/private", "/home/ann/private/a/b"},
			[]string{"/mnt/home/ann/private", "home/ann/private", "/home/ann/x/private"}},
		{"*.pem", []string{"/a/b/key.pem", "key.pem"}, []string{"/a/key.pem/x", "/a/key.pem.txt"}},
		{"**/clients/*/notes/**", []string{"/w/clients/acme/notes", "/clients/acme/notes/2026/x"},
			[]string{"/w/clients/notes", "/w/clients/a/b/notes"}},
		{"src/**/*.{key,pem}", []string{"/w/src/a.key", "/w/src/x/y/b.pem"}, []string{"/w/src/a.go"}},
		{"/", []string{"/"}, []string{"/a"}},
		{"**", []string{"/", "/a/b", "a"}, nil},
		{"vault/", []string{"/a/vault"}, []string{"/a/vault/b"}},
		{"./vault", []string{"/a/vault"}, nil},
		{`clients\acme\**`, []string{`D:\clients\acme`, "/clients/acme/x"}, []string{"/clients/acm"}},
		{`C:\work\**`, []string{`C:\work`, `C:/work/a`}, []string{`D:\work`}},
		{"日本/**", []string{"/home/日本/a"}, []string{"/home/日/a"}},
		{"[ab]?", []string{"/x/a1"}, []string{"/x/c1", "/x/a"}},
		{"[", nil, []string{"[", "/["}},
	} {
		for _, p := range c.yes {
			if !Match(c.pattern, p) {
				t.Errorf("%q does not match %q", c.pattern, p)
			}
		}
		for _, p := range c.no {
			if Match(c.pattern, p) {
				t.Errorf("%q matches %q", c.pattern, p)
			}
		}
	}
}

func TestMatchAnyTakesEachPathAndPattern(t *testing.T) {
	t.Parallel()
	patterns := []string{"a/**", "secret/**"}
	if !MatchAny(patterns, "", "/x/secret/y") || !MatchAny(patterns, "/a", "/b") || MatchAny(patterns, "", "/b") ||
		MatchAny(patterns) || MatchAny(nil, "/a") {
		t.Error("a path of several is matched wrongly")
	}
}

func TestValidateRefusesPatternsThatCannotWork(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "[", "a{b", "[]", "~/x", "~", strings.Repeat("{a,aa}", 3)} {
		if Validate(bad) == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	for _, good := range []string{"a", "**", "/a/**/b", "{a,b}/[!c]?", `a\b`, "a~"} {
		if err := Validate(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}

// The server matches foreign patterns with foreign paths of 8 KiB. A match that tries all ways outlives the test run.
func TestMatchEndsForTheWorstPatterns(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("a,", 45) + "aa"
	for _, pattern := range []string{strings.Repeat("**/a/", 59) + "b", strings.Repeat("*a", 149) + "b",
		"{" + many + "}{" + many + "}b", strings.Repeat("a*/**/", 49) + "b"} {
		for _, path := range []string{strings.Repeat("/a", 4<<10), strings.Repeat("a", 8<<10)} {
			Match(pattern, path)
		}
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("secret/**", "/home/secret/x")
	f.Add(`{a,b}\[c-`, `C:\x`)
	f.Fuzz(func(t *testing.T, pattern, path string) {
		if len(pattern) > 300 || len(path) > 8<<10 {
			t.Skip()
		}
		if Match(pattern, path) && Validate(pattern) != nil {
			t.Fatal("an invalid pattern matches")
		}
	})
}
