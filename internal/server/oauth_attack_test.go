package server

import (
	"bytes"
	"encoding/hex"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/loci-memory/loci/internal/store/storetest"
)

// oauthAttacks are attacks of RFC 9700 on a server with a client of ann. Each returns with an error if it succeeds.
var oauthAttacks = map[string]func(t *testing.T, w *oauthWorld, client string){
	"a stolen code is injected into another flow of the client (4.5)": func(t *testing.T, w *oauthWorld,
		client string) {
		f, attacker := w.newFlow(client), w.newFlow(client)
		refuse(t, "invalid_grant", f.redeem(f.code(), "code_verifier", attacker.verifier))
	},
	"a code is redeemed by another client (4.5)": func(t *testing.T, w *oauthWorld, client string) {
		f := w.newFlow(client)
		refuse(t, "invalid_grant", f.redeem(f.code(), "client_id", w.register(oauthRedirect)))
	},
	"a code is redeemed for another redirect (4.1)": func(t *testing.T, w *oauthWorld, client string) {
		f := w.newFlow(client)
		refuse(t, "invalid_grant", f.redeem(f.code(), "redirect_uri", "http://127.0.0.1:1/callback"))
	},
	"a code is used twice (4.5)": func(t *testing.T, w *oauthWorld, client string) {
		f := w.newFlow(client)
		code := f.code()
		access, refresh := tokensOf(t, f.redeem(code))
		refuse(t, "invalid_grant", f.redeem(code))
		refuse(t, "invalid_grant", f.refresh(refresh))
		if w.opens(access) {
			t.Error("the tokens of the first use survive the second one")
		}
	},
	"answers of two servers are mixed up (4.4)": func(t *testing.T, w *oauthWorld, client string) {
		f := w.newFlow(client)
		denied := f.decide(w.ann, f.bound(w.ann), "deny").location(t)
		f.query.Set("response_type", "token")
		for _, answer := range []url.Values{denied, f.authorize().location(t)} {
			if answer.Get("iss") != w.url || answer.Get("error") == "" || answer.Get("state") != "st%te+&=" ||
				answer.Has("code") {
				t.Error(answer)
			}
		}
	},
	"the client is downgraded to no PKCE (4.8)": func(t *testing.T, w *oauthWorld, client string) {
		for name, value := range map[string]string{"code_challenge": "", "code_challenge_method": "plain"} {
			f := w.newFlow(client)
			f.query.Set(name, value)
			if answer := f.authorize(w.ann).location(t); answer.Get("error") != "invalid_request" {
				t.Errorf("%s: %v", name, answer)
			}
		}
		f := w.newFlow(client)
		refuse(t, "invalid_request", f.redeem(f.code(), "code_verifier", ""))
		g := w.newFlow(client)
		refuse(t, "invalid_grant", g.redeem(g.code(), "code_verifier", g.query.Get("code_challenge")))
	},
	"an answer goes to an address that is not registered (4.1)": func(t *testing.T, w *oauthWorld, client string) {
		for _, to := range []string{"https://evil.example/callback", "http://127.0.0.1:45678/callback/..%2f",
			"http://127.0.0.1:45678/callback?x=1", "http://127.0.0.1:45678/callback#x",
			"http://localhost:45678/callback",
			"http://127.0.0.1:45678@evil.example/callback", "http://evil.example\\@127.0.0.1:45678/callback", "",
			"javascript:alert(1)", "//127.0.0.1:45678/callback", "HTTP://127.0.0.1:45678/callback"} {
			f := w.newFlow(client)
			f.query.Set("redirect_uri", to)
			showsPage(t, f.authorize(), to)
		}
		f := w.newFlow(client)
		f.query.Add("redirect_uri", "https://evil.example/callback")
		showsPage(t, f.authorize(), "two redirects")
		f = w.newFlow("unknown")
		showsPage(t, f.authorize(), "an unknown client")
	},
	"the server is an open redirector (4.11)": func(t *testing.T, w *oauthWorld, client string) {
		f := w.newFlow(client)
		for _, to := range []string{"https://evil.example/", "//evil.example/", "/oauth/authorize?" + f.query.Encode() +
			"&redirect_uri=https://evil.example/"} {
			got := w.postForm("/signin", url.Values{"email": {"ann@example.com"}, "password": {password}, "next": {to}},
				"Sec-Fetch-Site: same-origin")
			if at := got.header.Get("Location"); got.status != 303 || !strings.HasPrefix(at, "/") ||
				strings.HasPrefix(at, "//") || strings.Contains(at, "evil") {
				t.Errorf("%s leads to %q", to, at)
			}
		}
	},
	"a token of one client is used by another (4.9)": func(t *testing.T, w *oauthWorld, client string) {
		f, other := w.newFlow(client), w.register(oauthRedirect)
		access, refresh := tokensOf(t, f.redeem(f.code()))
		refuse(t, "invalid_grant", f.refresh(refresh, "client_id", other))
		for _, token := range []string{access, refresh} {
			got := w.postForm("/oauth/revoke", url.Values{"token": {token}, "client_id": {other}})
			if got.status != 200 || !w.opens(access) {
				t.Errorf("another client revokes: %d %s", got.status, got.text)
			}
		}
		tokensOf(t, f.refresh(refresh))
	},
	"a token is asked for another resource (4.10)": func(t *testing.T, w *oauthWorld, client string) {
		for _, resource := range []string{"https://other.example/mcp", w.url, w.url + "/v1", w.url + "/mcp#x",
			w.url + "/mcp?toolset=core&x=1", "http://x@" + strings.TrimPrefix(w.url, "http://") + "/mcp", "mcp"} {
			f := w.newFlow(client)
			code := f.code()
			refuse(t, "invalid_target", f.redeem(code, "resource", resource))
			f.query.Set("resource", resource)
			if answer := f.authorize(w.ann).location(t); answer.Get("error") != "invalid_target" {
				t.Errorf("%s: %v", resource, answer)
			}
		}
		for _, resource := range []string{"", w.url + "/mcp/", w.url + "/mcp?toolset=core"} {
			f := w.newFlow(client)
			f.query.Set("resource", resource)
			tokensOf(t, f.redeem(f.code(), "resource", resource))
		}
	},
	"a refresh token is used as an access token": func(t *testing.T, w *oauthWorld, client string) {
		f := w.newFlow(client)
		code := f.code()
		access, refresh := tokensOf(t, f.redeem(code))
		refuse(t, "invalid_grant", f.refresh(access))
		if w.opens(refresh) || w.opens(code) {
			t.Error("it opens the API")
		}
	},
	"a token gets more scope or reach (2.3)": func(t *testing.T, w *oauthWorld, client string) {
		f := w.newFlow(client)
		f.query.Set("scope", "admin mcp openid")
		access, refresh := tokensOf(t, f.redeem(f.code()))
		refuse(t, "invalid_scope", f.refresh(refresh, "scope", "admin"))
		bearer := "Authorization: Bearer " + access
		for request, status := range map[string]int{"GET /v1/api-keys": 403, "GET /v1/grants": 403,
			"GET /v1/sign-ins":                 403,
			"GET /v1/workspaces/" + w.personal: 404, "GET /v1/workspaces/" + w.team: 200} {
			method, path, _ := strings.Cut(request, " ")
			if got := w.send(method, path, "", bearer); got.status != status {
				t.Errorf("%s: %d %s", request, got.status, got.text)
			}
		}
		g := w.newFlow(client)
		g.query.Set("scope", "admin")
		if answer := g.authorize(w.ann).location(t); answer.Get("error") != "invalid_scope" {
			t.Error(answer)
		}
	},
	"a person allows a workspace of others, or none": func(t *testing.T, w *oauthWorld, client string) {
		f := w.newFlow(client)
		bound := f.bound(w.eve)
		for _, workspaces := range [][]string{{w.team}, {w.personal}, {}, {"x"}} {
			if got := f.decide(w.eve, bound, "allow", workspaces...); got.status < 400 ||
				got.header.Get("Location") != "" {
				t.Errorf("%v: %d %s", workspaces, got.status, got.header.Get("Location"))
			}
		}
	},
	"another site sends the form of the consent (4.7)": func(t *testing.T, w *oauthWorld, client string) {
		f := w.newFlow(client)
		bound := f.bound(w.ann)
		form := url.Values{"request": {bound}, "decision": {"allow"}, "workspaces": {w.team}}
		for _, headers := range [][]string{{"Sec-Fetch-Site: cross-site"}, {"Sec-Fetch-Site: same-site"},
			{"Origin: https://evil.example"}, {"Origin: null"}} {
			if got := w.postForm("/oauth/authorize", form, append(headers, w.ann)...); got.status != 403 {
				t.Errorf("%s: %d", headers, got.status)
			}
		}
		eve := w.newFlow(client)
		unbound := eve.authorize().location(t).Get("next")
		_, query, _ := strings.Cut(unbound, "?")
		fields, err := url.ParseQuery(query)
		if err != nil || fields.Get("request") == "" {
			t.Fatal(unbound)
		}
		for name, request := range map[string]string{"of another browser": eve.bound(w.eve),
			"of no browser": fields.Get("request"), "made up": "x.y", "nothing": ""} {
			if got := f.decide(w.ann, request, "allow", w.team); got.status != 400 || got.header.Get("Location") != "" {
				t.Errorf("a request %s: %d %s", name, got.status, got.header.Get("Location"))
			}
		}
		if got := f.decide("Cookie: x=y", bound, "allow", w.team); strings.Contains(got.header.Get("Location"),
			"code=") {
			t.Error("a browser that is not signed in decides")
		}
	},
	"another site frames the consent (4.16)": func(t *testing.T, w *oauthWorld, client string) {
		f := w.newFlow(client)
		for name, got := range map[string]reply{"consent": f.authorize(w.ann), "sign-in": w.send("GET", "/signin", ""),
			"error": w.newFlow("unknown").authorize()} {
			if !strings.Contains(got.header.Get("Content-Security-Policy"), "frame-ancestors 'none'") ||
				got.header.Get("X-Frame-Options") != "DENY" || got.header.Get("Referrer-Policy") != "no-referrer" ||
				got.header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %v", name, got.header)
			}
		}
	},
	"a request object or a document of a client is fetched (SSRF)": func(t *testing.T, w *oauthWorld, client string) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		var connections atomic.Int32
		go func() {
			for {
				c, err := listener.Accept()
				if err != nil {
					return
				}
				connections.Add(1)
				c.Close()
			}
		}()
		f := w.newFlow(client)
		f.query.Set("request_uri", "http://"+listener.Addr().String()+"/")
		if answer := f.authorize().location(t); answer.Get("error") != "request_uri_not_supported" {
			t.Error(answer)
		}
		_, port, _ := net.SplitHostPort(listener.Addr().String())
		for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]"} {
			f := w.newFlow("https://" + host + ":" + port + "/client.json")
			showsPage(t, f.authorize(), host)
		}
		if n := connections.Load(); n > 0 {
			t.Errorf("%d connections to this machine", n)
		}
	},
	"a parameter is given twice": func(t *testing.T, w *oauthWorld, client string) {
		f := w.newFlow(client)
		showsPage(t, w.send("GET", "/oauth/authorize?"+f.query.Encode()+"&client_id=other", ""), "client_id")
		got := w.send("POST", "/oauth/token", "grant_type=refresh_token&client_id="+client+
			"&refresh_token=a&refresh_token=b", "Content-Type: application/x-www-form-urlencoded")
		refuse(t, "invalid_request", got)
	},
	"a client proves itself with a secret": func(t *testing.T, w *oauthWorld, client string) {
		form := url.Values{"grant_type": {"refresh_token"}, "client_id": {client}, "refresh_token": {"x"}}
		refuse(t, "invalid_client", w.postForm("/oauth/token", form, "Authorization: Basic eDp5"))
		form.Set("client_secret", "x")
		refuse(t, "invalid_client", w.postForm("/oauth/token", form))
	},
}

func refuse(t *testing.T, code string, got reply) {
	t.Helper()
	if err := isRefusal(got, code); err != nil {
		t.Error(err)
	}
}

// showsPage checks that a refusal is for the person alone.
func showsPage(t *testing.T, got reply, what string) {
	t.Helper()
	if got.status != 400 || got.header.Get("Location") != "" ||
		!strings.HasPrefix(got.header.Get("Content-Type"), "text/html") {
		t.Errorf("%s: %d %v", what, got.status, got.header)
	}
}

func TestOAuthAttacksFail(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		w := newOAuthWorld(t, d, map[string]string{"oauth-cimd": "on"})
		client := w.register(oauthRedirect)
		t.Run("attacks", func(t *testing.T) {
			for name, attack := range oauthAttacks {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					attack(t, w, client)
				})
			}
		})
		w.requireNoSecretStored(t)
	})
}

// requireNoSecretStored searches the log and the database for the secrets of the run.
func (w *oauthWorld) requireNoSecretStored(t *testing.T) {
	t.Helper()
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	texts := storedTexts(t, w.database)
	size := len(texts)
	for _, text := range texts {
		size += len(text)
	}
	texts["the log"] = []byte(w.log.String())
	if len(w.secrets) < 30 || size < 10_000 || !bytes.Contains(texts["the log"], []byte(`"oauth.token"`)) {
		t.Fatalf("%d secrets, %d bytes", len(w.secrets), size)
	}
	for name, text := range texts {
		for _, secret := range w.secrets {
			encoded := hex.EncodeToString([]byte(secret))
			if bytes.Contains(text, []byte(secret)) || bytes.Contains(text, []byte(encoded)) {
				t.Errorf("%s holds %.12s...", name, secret)
			}
		}
	}
}

// storedTexts returns the files of SQLite, or the rows of the tables of PostgreSQL, which shows bytes in hexadecimal.
func storedTexts(t *testing.T, d storetest.Database) map[string][]byte {
	t.Helper()
	texts := map[string][]byte{}
	if d.Dir == "" {
		for _, table := range d.Query(t, `SELECT tablename FROM pg_tables WHERE schemaname = current_schema()`) {
			texts[table] = []byte(strings.Join(d.Query(t, `SELECT x::text FROM "`+table+`" x`), "\n"))
		}
		return texts
	}
	if err := filepath.WalkDir(d.Dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		texts[path], err = os.ReadFile(path)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return texts
}

// TestOAuthRefreshReplayEndsTheGrant sets the clock past the time in which a replay gets the same answer (RFC 9700,
// section 4.14).
func TestOAuthRefreshReplayEndsTheGrant(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		w := newOAuthWorld(t, d, nil)
		f := w.newFlow(w.register(oauthRedirect))
		unused := w.newFlow(f.client)
		code := unused.code()
		_, refresh := tokensOf(t, f.redeem(f.code()))
		first, replayed := f.refresh(refresh), f.refresh(refresh)
		if first.text != replayed.text {
			t.Errorf("a replay at once: %s", replayed.text)
		}
		access, next := tokensOf(t, first)
		if err := w.stop(); err != nil {
			t.Fatal(err)
		}
		w.start(map[string]string{"clock-offset": "3m"})
		refuse(t, "invalid_grant", unused.redeem(code))
		if !w.opens(access) {
			t.Error("the grant ended before the replay")
		}
		refuse(t, "invalid_grant", f.refresh(refresh))
		refuse(t, "invalid_grant", f.refresh(next))
		if w.opens(access) {
			t.Error("the grant outlives the replay")
		}
	})
}

// TestOAuthCodeIsRedeemedOnceByFiftyAtOnce uses two servers on PostgreSQL.
func TestOAuthCodeIsRedeemedOnceByFiftyAtOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		w := newOAuthWorld(t, d, nil)
		f := w.newFlow(w.register(oauthRedirect))
		code := f.code()
		flows := []*flow{f, f}
		if d.Address != "" {
			other := *f
			other.oauthWorld = &oauthWorld{t: t, database: d}
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			address := listener.Addr().String()
			listener.Close()
			start(t, w.flags(map[string]string{"public-url": w.url, "listen": address}))
			other.url = "http://" + address
			flows[1] = &other
		}
		replies := make([]reply, 50)
		var group sync.WaitGroup
		for i := range replies {
			group.Go(func() { replies[i] = flows[i%2].redeem(code) })
		}
		group.Wait()
		won := 0
		for _, r := range replies {
			if r.status == 200 {
				won++
				access, _ := tokensOf(t, r)
				if w.opens(access) {
					t.Error("the tokens survive the second use")
				}
			} else if err := isRefusal(r, "invalid_grant"); err != nil {
				t.Error(err)
			}
		}
		if won != 1 {
			t.Errorf("%d of 50 won", won)
		}
	})
}

func TestOAuthRegistrationsAreLimited(t *testing.T) {
	t.Parallel()
	url, _, _, _ := start(t, map[string]string{"signin-limit": "2"})
	w := &oauthWorld{t: t, url: url}
	jsonType := "Content-Type: application/json"
	const body = `{"redirect_uris":["` + oauthRedirect + `"]}`
	for range 3 { // these store nothing, and are not counted
		refuse(t, "invalid_redirect_uri", w.send("POST", "/oauth/register", `{"redirect_uris":["data:x"]}`, jsonType))
		refuse(t, "invalid_client_metadata", w.send("POST", "/oauth/register", body, "Content-Type: text/plain"))
	}
	for range 2 {
		if got := w.send("POST", "/oauth/register", body, jsonType); got.status != 201 {
			t.Error(got.status, got.text)
		}
	}
	got := w.send("POST", "/oauth/register", body, jsonType)
	if got.status != 429 || got.header.Get("Retry-After") == "" || got.object(t)["error"] != "temporarily_unavailable" {
		t.Error(got.status, got.header, got.text)
	}
	large := `{"redirect_uris":["` + oauthRedirect + `"],"client_name":"` + strings.Repeat("x", 64<<10) + `"}`
	if got := w.send("POST", "/oauth/register", large, jsonType); got.status != 413 ||
		got.object(t)["error"] != "invalid_client_metadata" {
		t.Error(got.status, got.text)
	}
	if got := w.send("GET", "/oauth/register", ""); got.status != 405 || got.header.Get("Allow") != "POST" {
		t.Error(got.status, got.header)
	}
}
