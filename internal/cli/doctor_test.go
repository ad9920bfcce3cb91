package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/testenv"
)

// A server of another kind that answers all paths gets no key, by doctor and by login.
func TestKeyIsSentToLociAlone(t *testing.T) {
	t.Parallel()
	for _, health := range []string{`{"ok":true}`, `{"ok":true,"service":"other"}`, `{"ok":false,"service":"loci"}`, `[]`} {
		var keys []string
		stranger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			keys = append(keys, r.Header.Get("Authorization"))
			_, _ = io.WriteString(w, health)
		}))
		t.Cleanup(stranger.Close)
		d := newTestTerminal(t, "LOCI_URL="+stranger.URL, "LOCI_API_KEY="+fakeKey)
		d.expectRun(t, 1, "server    BROKEN: "+stranger.URL+" does not answer as a Loci server does", "doctor")
		d.in = strings.NewReader(fakeKey)
		if code := d.run("login", stranger.URL, "--key", "-"); code != 1 {
			t.Errorf("login: %d %s", code, d.err.String())
		}
		if len(keys) != 2 || strings.Join(keys, "") != "" {
			t.Errorf("%s: requests with %q", health, keys)
		}
	}
}

func TestDoctorWritesReadsAndDeletesMemory(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault  func(*fakeService)
		code   int
		says   string
		writes bool
	}{
		"all works":  {func(*fakeService) {}, 0, "memory    ok: was written, read back and deleted", true},
		"other text": {func(s *fakeService) { s.damaged = "x" }, 1, "BROKEN: the memory that was written", true},
		"lost":       {func(s *fakeService) { s.missing = true }, 1, "memory    BROKEN: ", true},
		"kept":       {func(s *fakeService) { s.keeps = true }, 1, fakeID + " was written as a test", true},
		"no writes":  {func(s *fakeService) { s.refused = loci.CodeForbidden }, 0, "not tried: this credential", false},
		"no scope":   {func(s *fakeService) { s.refused = loci.CodeInsufficientScope }, 0, "not tried: this cr", false},
		"outage":     {func(s *fakeService) { s.refused = loci.CodeUnavailable }, 1, "memory    BROKEN: ", false},
		"variant":    {func(s *fakeService) { s.variant = "get" }, 0, "not tried: this variant", false},
	} {
		d := newTestTerminal(t, "LOCI_API_KEY="+fakeKey)
		d.Environ = append(d.Environ, "LOCI_URL="+newFakeServer(t, d.service).URL)
		c.fault(d.service)
		d.expectRun(t, c.code, c.says, "doctor")
		testenv.Contains(t, d.out.String(), "\naccount   ada@example.org\n")
		testenv.Equal(t, d.service.create.Content != "", c.writes, name)
		testenv.Equal(t, d.service.deleted == fakeID, c.writes, name)
	}
}
