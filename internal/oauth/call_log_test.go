package oauth

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/logtest"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// A loggedCaller is a client whose calls are logged.
type loggedCaller struct {
	t       *testing.T
	server  *Server
	handler http.Handler
	client  string
	log     logtest.Buffer
	user    loci.ID
	team    loci.ID
	secrets []string // every code, token and verifier of the run
}

// A loggedAnswer is the answer to a call, with the grant of its line in the log.
type loggedAnswer struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	grant   string
}

func newLoggedCaller(t *testing.T, clock loci.Clock) *loggedCaller {
	c := &loggedCaller{t: t}
	c.server, c.client, c.handler = newTestServerAt(t, clock)
	c.server.Host = &op.Host{Log: slog.New(slog.NewTextHandler(&c.log, nil))}
	ann := storetest.User(t, c.server.Store, "ann")
	c.user, c.team = ann.UserID, storetest.Team(t, c.server.Store, ann, nil)
	return c
}

// call calls an endpoint, and checks the status and the user of its line in the log.
func (c *loggedCaller) call(path, status string, form url.Values) (a loggedAnswer) {
	c.t.Helper()
	form.Set("client_id", c.client)
	w := callEndpoint(c.handler, path, "application/x-www-form-urlencoded", form.Encode())
	testenv.NoError(c.t, json.Unmarshal(w.Body.Bytes(), &a))
	lines := strings.Split(strings.TrimSpace(c.log.String()), "\n")
	line := lines[len(lines)-1]
	for _, text := range []string{"op=oauth." + strings.TrimPrefix(path, "/oauth/"), "status=" + status,
		"user=" + string(c.user)} {
		if !strings.Contains(line, text) {
			c.t.Errorf("no %s in %s", text, line)
		}
	}
	_, after, _ := strings.Cut(line, "credential=")
	a.grant, _, _ = strings.Cut(after, " ")
	c.secrets = append(c.secrets, a.Access, a.Refresh)
	return a
}

// code returns the form that redeems a new code.
func (c *loggedCaller) code() url.Values {
	c.t.Helper()
	consent, r := storetest.Consent(c.user, storetest.SignIn(c.t, c.server.Store, c.user), c.client, c.team)
	consent.Resource = c.server.resource
	code := testenv.Must(storetest.Authorize(c.server.Store, consent))(c.t)
	c.secrets = append(c.secrets, code, r.Verifier)
	return url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {r.RedirectURI},
		"code_verifier": {r.Verifier}}
}

func (c *loggedCaller) refresh(token, status string) loggedAnswer {
	c.t.Helper()
	return c.call("/oauth/token", status, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}})
}

// TestCallsAreLoggedWithUserAndGrant checks that the log says whose grant a call used or ended, refused ones too, and
// that it holds no code, token or verifier.
func TestCallsAreLoggedWithUserAndGrant(t *testing.T) {
	t.Parallel()
	var offset atomic.Int64
	c := newLoggedCaller(t, func() time.Time { return time.Now().Add(time.Duration(offset.Load())) })
	same := func(what string, first, second loggedAnswer) {
		t.Helper()
		if !loci.ID(first.grant).Valid() || first.grant != second.grant {
			t.Errorf("%s is logged as of grant %s, want %s", what, second.grant, first.grant)
		}
	}

	form := c.code()
	first := c.call("/oauth/token", "200", form)
	same("a refresh", first, c.refresh(first.Refresh, "200"))
	same("the second use of a code", first, c.call("/oauth/token", "400", form))

	first = c.call("/oauth/token", "200", c.code())
	same("a revocation", first, c.call("/oauth/revoke", "200", url.Values{"token": {first.Access}}))

	first = c.call("/oauth/token", "200", c.code())
	c.refresh(first.Refresh, "200")
	offset.Store(int64(3 * time.Minute))
	same("a stolen token", first, c.refresh(first.Refresh, "400"))

	form = c.code()
	form.Set("code_verifier", identity.NewSecret())
	if refused := c.call("/oauth/token", "400", form); refused.grant != `""` {
		t.Errorf("a refused code has the grant %s", refused.grant)
	}
	for _, secret := range c.secrets {
		if secret != "" && strings.Contains(c.log.String(), secret) {
			t.Error("the log holds a secret")
		}
	}
}
