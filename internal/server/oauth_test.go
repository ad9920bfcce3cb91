package server

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/logtest"
	"github.com/loci-memory/loci/internal/oauth"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

const oauthRedirect = "http://127.0.0.1:45678/callback"

// An oauthWorld is a running server with two users, of whom ann owns a team.
type oauthWorld struct {
	t              *testing.T
	database       storetest.Database
	documents      oauth.DocumentAccess
	url            string
	log            *logtest.Buffer
	stop           func() error
	ann, eve       string // cookies of their browsers
	team, personal string // workspaces of ann

	mu      sync.Mutex
	secrets []string // every code, token and verifier of the run
}

func newOAuthWorld(t *testing.T, d storetest.Database, flags map[string]string) *oauthWorld {
	t.Helper()
	return newDocumentWorld(t, d, flags, oauth.DocumentAccess{})
}

// newDocumentWorld returns a world whose server fetches metadata documents where access allows it.
func newDocumentWorld(t *testing.T, d storetest.Database, flags map[string]string,
	access oauth.DocumentAccess) *oauthWorld {
	t.Helper()
	w := &oauthWorld{t: t, database: d, documents: access}
	w.start(flags)
	admin, err := OpenAdmin(context.Background(), Settings{Data: d.Dir, DB: d.Address})
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	for _, email := range []string{"ann@example.com", "eve@example.com"} {
		if _, err := admin.CreateUser(t.Context(), email, "", password); err != nil {
			t.Fatal(err)
		}
	}
	key, err := admin.CreateKey(t.Context(), "ann@example.com", "")
	if err != nil {
		t.Fatal(err)
	}
	_, v := callAPI(t, "GET", w.url+"/v1/workspaces", key.APIKey, "")
	w.personal = v["workspaces"].([]any)[0].(map[string]any)["id"].(string)
	_, v = callAPI(t, "POST", w.url+"/v1/workspaces", key.APIKey, `{"name":"Team"}`)
	w.team = v["workspace"].(map[string]any)["id"].(string)
	w.ann, w.eve = w.signIn("ann@example.com"), w.signIn("eve@example.com")
	return w
}

// start starts the server on the database of the world, at its first address.
func (w *oauthWorld) start(flags map[string]string) {
	w.t.Helper()
	all := w.flags(flags)
	if w.url != "" { // again
		all["listen"] = strings.TrimPrefix(w.url, "http://")
	}
	w.url, _, w.log, w.stop = startWith(w.t, all, w.documents)
}

// flags returns the flags of a server on the database of the world, with more.
func (w *oauthWorld) flags(more map[string]string) map[string]string {
	all := map[string]string{"data": w.database.Dir, "db": w.database.Address, "signin-limit": "0"}
	maps.Copy(all, more)
	return all
}

// keep notes a secret of the run.
func (w *oauthWorld) keep(secrets ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.secrets = append(w.secrets, secrets...)
}

// A reply is the response to one request; redirects are not followed.
type reply struct {
	status int
	header http.Header
	text   string
}

// location returns the parameters of the address that a response leads to.
func (r reply) location(t *testing.T) url.Values {
	t.Helper()
	u, err := url.Parse(r.header.Get("Location"))
	if err != nil || r.header.Get("Location") == "" {
		t.Fatalf("%d leads to %q, %v: %s", r.status, r.header.Get("Location"), err, r.text)
	}
	return u.Query()
}

// object returns the JSON of a response.
func (r reply) object(t *testing.T) (v map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.text), &v); err != nil {
		t.Fatalf("%d %s", r.status, r.text)
	}
	return v
}

// send sends a request with some headers ("Name: value").
func (w *oauthWorld) send(method, path, body string, headers ...string) reply {
	w.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Add(name, value)
	}
	r.Close = true // a later request must not go to a connection of a server that was stopped
	res, err := testenv.Transport.RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return reply{res.StatusCode, res.Header, string(text)}
}

func (w *oauthWorld) postForm(path string, fields url.Values, headers ...string) reply {
	w.t.Helper()
	return w.send("POST", path, fields.Encode(), append(headers, "Content-Type: application/x-www-form-urlencoded")...)
}

// signIn returns the Cookie header of a browser in which a user signs in.
func (w *oauthWorld) signIn(email string) string {
	w.t.Helper()
	got := w.send("POST", "/v1/auth/login", `{"email":"`+email+`","password":"`+password+`"}`,
		"Content-Type: application/json")
	cookie, _, _ := strings.Cut(got.header.Get("Set-Cookie"), ";")
	if got.status != 200 || cookie == "" {
		w.t.Fatal(got.status, got.text)
	}
	return "Cookie: " + cookie
}

// register returns the id of a new client.
func (w *oauthWorld) register(redirects ...string) string {
	w.t.Helper()
	body, err := json.Marshal(map[string]any{"client_name": "Test", "redirect_uris": redirects})
	if err != nil {
		w.t.Fatal(err)
	}
	got := w.send("POST", "/oauth/register", string(body), "Content-Type: application/json")
	if got.status != 201 {
		w.t.Fatal(got.status, got.text)
	}
	return got.object(w.t)["client_id"].(string)
}

// A flow is one authorization of a client.
type flow struct {
	*oauthWorld
	client, verifier string
	query            url.Values // of the authorization endpoint
}

func (w *oauthWorld) newFlow(client string) *flow {
	f := &flow{oauthWorld: w, client: client, verifier: identity.NewSecret()}
	w.keep(f.verifier)
	sum := sha256.Sum256([]byte(f.verifier))
	f.query = url.Values{"response_type": {"code"}, "client_id": {client}, "redirect_uri": {oauthRedirect},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
		"state": {"st%te+&="}, "scope": {"mcp"}, "resource": {w.url + "/mcp"}}
	return f
}

func (f *flow) authorize(headers ...string) reply {
	f.t.Helper()
	return f.send("GET", "/oauth/authorize?"+f.query.Encode(), "", headers...)
}

var boundField = regexp.MustCompile(`name="request" value="([^"]*)"`)

// bound returns the request that is bound to a browser, from the consent page.
func (f *flow) bound(cookie string) string {
	f.t.Helper()
	page := f.authorize(cookie)
	found := boundField.FindStringSubmatch(page.text)
	if page.status != 200 || found == nil {
		f.t.Fatal(page.status, page.header, page.text)
	}
	return html.UnescapeString(found[1])
}

// decide sends the form of the consent page from a page of the server.
func (f *flow) decide(cookie, bound, decision string, workspaces ...string) reply {
	f.t.Helper()
	return f.postForm("/oauth/authorize", url.Values{"request": {bound}, "decision": {decision},
		"workspaces": workspaces},
		cookie, "Sec-Fetch-Site: same-origin")
}

// code returns the authorization code of a consent of ann to the team.
func (f *flow) code() string {
	f.t.Helper()
	answer := f.decide(f.ann, f.bound(f.ann), "allow", f.team).location(f.t)
	code := answer.Get("code")
	if code == "" || answer.Get("state") != f.query.Get("state") || answer.Get("iss") != f.url {
		f.t.Fatal(answer)
	}
	f.keep(code)
	return code
}

// redeem sends a code to the token endpoint, with changed parameters.
func (f *flow) redeem(code string, changes ...string) reply {
	f.t.Helper()
	form := url.Values{"grant_type": {"authorization_code"}, "client_id": {f.client}, "code": {code},
		"redirect_uri": {f.query.Get("redirect_uri")}, "code_verifier": {f.verifier}}
	for i := 0; i < len(changes); i += 2 {
		form.Set(changes[i], changes[i+1])
	}
	return f.keepTokens(f.postForm("/oauth/token", form))
}

// refresh sends a refresh token, with changed parameters.
func (f *flow) refresh(token string, changes ...string) reply {
	f.t.Helper()
	form := url.Values{"grant_type": {"refresh_token"}, "client_id": {f.client}, "refresh_token": {token}}
	for i := 0; i < len(changes); i += 2 {
		form.Set(changes[i], changes[i+1])
	}
	return f.keepTokens(f.postForm("/oauth/token", form))
}

func (f *flow) keepTokens(r reply) reply {
	if r.status == 200 {
		access, refresh := tokensOf(f.t, r)
		f.keep(access, refresh)
	}
	return r
}

// tokensOf returns the tokens of a successful answer.
func tokensOf(t *testing.T, r reply) (access, refresh string) {
	t.Helper()
	v := r.object(t)
	if r.status != 200 || v["token_type"] != "Bearer" || v["scope"] != "mcp" || v["expires_in"] != 3600.0 ||
		r.header.Get("Cache-Control") != "no-store" || r.header.Get("Pragma") != "no-cache" {
		t.Fatal(r.status, r.header, r.text)
	}
	return v["access_token"].(string), v["refresh_token"].(string)
}

// opens reports whether an access token opens the API.
func (w *oauthWorld) opens(token string) bool {
	w.t.Helper()
	got := w.send("GET", "/v1/workspaces", "", "Authorization: Bearer "+token)
	if got.status != 200 && got.status != 401 {
		w.t.Fatal(got.status, got.text)
	}
	return got.status == 200
}

// isRefusal compares an error response of the endpoints of programs.
func isRefusal(r reply, code string) error {
	var v struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	want := 400
	if code == "invalid_client" {
		want = 401
	}
	if err := json.Unmarshal([]byte(r.text), &v); err != nil || r.status != want || v.Error != code ||
		v.Description == "" || r.header.Get("Cache-Control") != "no-store" {
		return fmt.Errorf("%d %s, want %s", r.status, r.text, code)
	}
	return nil
}

func TestOAuthTokenReachesOnlyTheChosenWorkspaces(t *testing.T) {
	t.Parallel()
	w := newOAuthWorld(t, storetest.Database{Dir: t.TempDir()}, nil)
	f := w.newFlow(w.register(oauthRedirect))
	access, refresh := tokensOf(t, f.redeem(f.code()))
	listed := w.send("GET", "/v1/workspaces", "", "Authorization: Bearer "+access)
	if listed.status != 200 || !strings.Contains(listed.text, w.team) || strings.Contains(listed.text, w.personal) {
		t.Errorf("%d %s", listed.status, listed.text)
	}
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	w.start(nil)
	if !w.opens(access) {
		t.Error("the access token ended with the process")
	}
	second, _ := tokensOf(t, f.refresh(refresh))
	if !w.opens(second) {
		t.Error("a refreshed token opens nothing")
	}
	if got := w.postForm("/oauth/revoke", url.Values{"token": {second}, "client_id": {f.client}}); got.status != 200 {
		t.Error(got)
	}
	if w.opens(access) || w.opens(second) {
		t.Error("a revoked grant opens something")
	}
}

func TestOAuthDocumentsFollowThePublicURL(t *testing.T) {
	t.Parallel()
	url, _, _, _ := start(t, map[string]string{"public-url": "https://loci.example.org/", "oauth-cimd": "on"})
	w := &oauthWorld{t: t, url: url}
	texts := map[string]string{}
	for _, path := range []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp",
		"/mcp/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server",
		"/.well-known/oauth-authorization-server/mcp", "/.well-known/openid-configuration",
		"/.well-known/openid-configuration/mcp", "/mcp/.well-known/oauth-authorization-server",
		"/mcp/.well-known/openid-configuration"} {
		got := w.send("GET", path, "", "Host: loci.example.org", "X-Forwarded-Host: evil.example",
			"X-Forwarded-Proto: http", "Origin: https://anywhere.example")
		if got.status != 200 || strings.Contains(got.text, "evil") || !strings.Contains(got.text, `"https://loci.example.org"`) ||
			strings.Contains(got.text, `example.org/"`) || got.header.Get("Access-Control-Allow-Origin") != "*" ||
			got.header.Get("Set-Cookie") != "" || got.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %v %s", path, got.status, got.header, got.text)
		}
		kind := map[bool]string{true: "resource", false: "server"}[strings.Contains(path, "protected")]
		if texts[kind] == "" {
			texts[kind] = got.text
		}
		if got.text != texts[kind] {
			t.Errorf("%s has another document: %s", path, got.text)
		}
		if again := w.send("GET", path, "", "If-None-Match: "+got.header.Get("ETag")); again.status != 304 {
			t.Errorf("%s: %d", path, again.status)
		}
		if head := w.send("HEAD", path, ""); head.status != 200 {
			t.Errorf("%s: %d", path, head.status)
		}
	}
	if got := w.send("GET", "/.well-known/oauth-authorization-server",
		""); got.object(t)["client_id_metadata_document_supported"] != true {
		t.Error(got.text)
	}
	for _, path := range []string{"/.well-known/oauth-authorization-server/other", "/.well-known/jwks.json"} {
		if got := w.send("GET", path, ""); got.status != 404 || !strings.Contains(got.text, `"not_found"`) {
			t.Errorf("%s: %d %s", path, got.status, got.text)
		}
	}
}
