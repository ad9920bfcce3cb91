// Package oauthtest has an authorization server for tests of clients, with every fault that a client may meet.
package oauthtest

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A Server is an authorization server whose person allows everything at once. Set its fields before the first request.
type Server struct {
	*httptest.Server
	// Resource and Metadata change the two documents.
	Resource, Metadata func(document map[string]any)
	// Redirect changes the answer to the client.
	Redirect func(answer url.Values)
	// Repeats makes the server answer a refresh token that comes again with the same tokens.
	Repeats bool
	// Fallback serves all other paths.
	Fallback http.Handler
	// Lifetime is the expires_in of access tokens, in seconds.
	Lifetime int

	mu         sync.Mutex
	faults     map[string]http.HandlerFunc
	clients    map[string]bool
	challenges map[string]string         // of a code
	access     map[string]string         // the grants of live access tokens
	refresh    map[string]string         // the grants of live refresh tokens
	answers    map[string]map[string]any // to refresh tokens
	scope      string                    // that the last authorization asked for
	counts     map[string]int
	made       int
}

// New starts a server.
func New(t *testing.T) *Server {
	s := &Server{Lifetime: 3600, faults: map[string]http.HandlerFunc{}, clients: map[string]bool{},
		challenges: map[string]string{}, access: map[string]string{}, refresh: map[string]string{},
		answers: map[string]map[string]any{}, counts: map[string]int{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// Fail replaces the handler of a path; nil ends that.
func (s *Server) Fail(path string, fault http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[path] = fault
}

// Count returns the number of requests for a path; for the token endpoint "grant_type" follows a space.
func (s *Server) Count(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[path]
}

// Accepts reports whether an access token is live.
func (s *Server) Accepts(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.access[token] != ""
}

// Expire ends all access tokens.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.access)
}

// Forget deletes all clients.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.clients)
}

// EndGrants ends all tokens.
func (s *Server) EndGrants() {
	s.Expire()
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.refresh)
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm() // a broken form lacks its fields
	s.mu.Lock()
	s.counts[r.URL.Path]++
	if kind := r.PostForm.Get("grant_type"); kind != "" {
		s.counts[r.URL.Path+" "+kind]++
	}
	fault := s.faults[r.URL.Path]
	s.mu.Unlock()
	if fault != nil {
		fault(w, r)
		return
	}
	s.Serve(w, r)
}

// Serve answers without faults.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request) {
	switch r.Method + " " + r.URL.Path {
	case "GET /.well-known/oauth-protected-resource/mcp":
		s.document(w, s.Resource, map[string]any{"resource": s.URL + "/mcp", "authorization_servers": []string{s.URL}})
	case "GET /.well-known/oauth-authorization-server":
		s.document(w, s.Metadata, map[string]any{"issuer": s.URL,
			"authorization_endpoint": s.URL + "/oauth/authorize", "token_endpoint": s.URL + "/oauth/token",
			"registration_endpoint": s.URL + "/oauth/register", "revocation_endpoint": s.URL + "/oauth/revoke",
			"code_challenge_methods_supported":               []string{"S256"},
			"authorization_response_iss_parameter_supported": true})
	case "POST /oauth/register":
		s.register(w)
	case "GET /oauth/authorize":
		s.authorize(w, r)
	case "POST /oauth/token":
		s.token(w, r)
	case "POST /oauth/revoke":
		s.revoke(w, r)
	default:
		if s.Fallback == nil {
			http.NotFound(w, r)
			return
		}
		s.Fallback.ServeHTTP(w, r)
	}
}

func (s *Server) document(w http.ResponseWriter, change func(map[string]any), document map[string]any) {
	if change != nil {
		change(document)
	}
	Reply(w, 200, document)
}

// Reply writes a JSON response.
func Reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// Refuse writes an error of OAuth.
func Refuse(w http.ResponseWriter, status int, code string) {
	Reply(w, status, map[string]string{"error": code, "error_description": "It is a test."})
}

// name returns a new value, such as client-1.
func (s *Server) name(kind string) string {
	s.made++
	return fmt.Sprint(kind, "-", s.made)
}

func (s *Server) register(w http.ResponseWriter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.name("client")
	s.clients[id] = true
	Reply(w, 201, map[string]string{"client_id": id})
}

// authorize redirects at once, as after consent.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := r.URL.Query()
	s.scope = q.Get("scope")
	if !s.clients[q.Get("client_id")] || s.scope != "mcp" && s.scope != "mcp account" ||
		q.Get("resource") != s.URL+"/mcp" ||
		q.Get("code_challenge_method") != "S256" || !strings.HasPrefix(q.Get("redirect_uri"), "http://127.0.0.1:") {
		http.Error(w, "a broken request", http.StatusBadRequest)
		return
	}
	code := s.name("code")
	s.challenges[code] = q.Get("code_challenge")
	answer := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {s.URL}}
	if s.Redirect != nil {
		s.Redirect(answer)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+answer.Encode(), http.StatusSeeOther)
}

func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := r.PostForm
	if !s.clients[f.Get("client_id")] {
		Refuse(w, 401, "invalid_client")
		return
	}
	if answer := s.answers[f.Get("refresh_token")]; answer != nil && s.Repeats {
		Reply(w, 200, answer)
		return
	}
	valid, grant := false, ""
	switch f.Get("grant_type") {
	case "authorization_code":
		sum := sha256.Sum256([]byte(f.Get("code_verifier")))
		valid = s.challenges[f.Get("code")] == base64.RawURLEncoding.EncodeToString(sum[:])
		delete(s.challenges, f.Get("code"))
		grant = s.name("grant")
	case "refresh_token": // a token works once: the test that repeats one keeps the response itself
		grant = s.refresh[f.Get("refresh_token")]
		valid = grant != ""
		delete(s.refresh, f.Get("refresh_token"))
	}
	if !valid {
		Refuse(w, 400, "invalid_grant")
		return
	}
	answer := s.issue(grant)
	s.answers[f.Get("refresh_token")] = answer
	Reply(w, 200, answer)
}

// issue makes the tokens of a grant.
func (s *Server) issue(grant string) map[string]any {
	access, refresh := s.name("access"), s.name("refresh")
	s.access[access], s.refresh[refresh] = grant, grant
	return map[string]any{"access_token": access, "refresh_token": refresh, "token_type": "Bearer",
		"expires_in": s.Lifetime, "scope": cmp.Or(s.scope, "mcp")}
}

// Grant makes a client and a grant, as after a sign-in.
func (s *Server) Grant() (client, access, refresh string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	client = s.name("client")
	s.clients[client] = true
	answer := s.issue(s.name("grant"))
	return client, answer["access_token"].(string), answer["refresh_token"].(string)
}

func (s *Server) revoke(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if grant := s.refresh[r.PostForm.Get("token")]; grant != "" {
		for _, tokens := range []map[string]string{s.access, s.refresh} {
			maps.DeleteFunc(tokens, func(_, of string) bool { return of == grant })
		}
	}
	Reply(w, 200, map[string]any{})
}

// Live returns the live refresh tokens.
func (s *Server) Live() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.refresh))
}
