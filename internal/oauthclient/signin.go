package oauthclient

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci"
)

// A SignIn is a sign-in in progress: the browser shows the pages of the server, which redirects it to this machine.
type SignIn struct {
	server   Server
	client   Client
	scope    string
	redirect string
	state    string
	verifier string
	listener *http.Server

	mu       sync.Mutex
	answered bool
	answers  chan answer
}

// An answer is the redirect of the server: a code or an error. The browser waits for the result.
type answer struct {
	code   string
	err    error
	result chan error
}

// Start listens for the redirect at a free port of this machine. Close ends it. With account the person may allow
// everything, and else workspaces alone.
func (s Server) Start(c Client, account bool) (*SignIn, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("no port of 127.0.0.1 can be opened for the answer of the browser: %w", err)
	}
	asked := scope
	if account {
		asked += " " + accountScope
	}
	in := &SignIn{server: s, client: c, scope: asked,
		redirect: "http://" + l.Addr().String() + callbackPath, state: rand.Text(),
		verifier: rand.Text() + rand.Text(), answers: make(chan answer, 1)}
	in.listener = &http.Server{Handler: in, ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 32 << 10,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	go func() { _ = in.listener.Serve(l) }() // it ends with Close
	return in, nil
}

// Close stops listening, once the browser has its page.
func (in *SignIn) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if in.listener.Shutdown(ctx) != nil {
		_ = in.listener.Close() // a browser that does not read is cut off
	}
}

// RedirectURI returns the address to which the server redirects the browser.
func (in *SignIn) RedirectURI() string { return in.redirect }

// Address returns the address that the person opens in a browser.
func (in *SignIn) Address() string {
	challenge := sha256.Sum256([]byte(in.verifier))
	return in.server.Authorize + "?" + url.Values{"response_type": {"code"}, "client_id": {in.client.ID},
		"redirect_uri": {in.redirect}, "scope": {in.scope}, "state": {in.state}, "resource": {in.server.Resource},
		"code_challenge":        {base64.RawURLEncoding.EncodeToString(challenge[:])},
		"code_challenge_method": {"S256"}}.Encode()
}

// Wait returns the tokens, once the person has answered in the browser.
func (in *SignIn) Wait(ctx context.Context) (Tokens, error) {
	select {
	case <-ctx.Done():
		return Tokens{}, ctx.Err()
	case a := <-in.answers:
		t, err := Tokens{}, a.err
		if err == nil {
			t, err = in.server.redeem(ctx, in.client, a.code, in.verifier, in.redirect)
		}
		if err == nil && t.Refresh == "" {
			err = badServer(in.server.Issuer, "its response has no refresh token")
		}
		a.result <- err
		return t, err
	}
}

// Paste takes the address at which the browser ended, from a person whose browser cannot reach this machine.
func (in *SignIn) Paste(ctx context.Context, address string) error {
	query, ok := strings.CutPrefix(strings.TrimSpace(address), in.redirect+"?")
	if !ok {
		return loci.Errorf(loci.CodeInvalidQuery, "paste the whole address, which begins with %s", in.redirect)
	}
	return in.answer(ctx, query)
}

// Errors of an answer that does not end the sign-in.
var (
	errForeign  = errors.New("the answer does not belong to this sign-in")
	errAnswered = errors.New("this sign-in was answered before")
)

// answer passes a redirect to Wait and returns the result of the sign-in. Anyone on this machine can send one: without
// the state it is refused, and the sign-in continues.
func (in *SignIn) answer(ctx context.Context, rawQuery string) error {
	query, err := url.ParseQuery(rawQuery)
	if err != nil || subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(in.state)) != 1 {
		return errForeign
	}
	in.mu.Lock()
	again := in.answered
	in.answered = true
	in.mu.Unlock()
	if again {
		return errAnswered
	}
	a := answer{result: make(chan error, 1)}
	a.code, a.err = in.parse(query)
	in.answers <- a // it has room for the only answer
	select {
	case err := <-a.result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// parse returns the code of an answer. An answer of another issuer could be a mix-up (RFC 9207).
func (in *SignIn) parse(query url.Values) (string, error) {
	for name, values := range query {
		if len(values) > 1 {
			return "", tryAgain(in.server.Issuer, badServer(in.server.Issuer, "it answered with two values of "+
				clip(name, 40)))
		}
	}
	code, failure := query.Get("code"), query.Get("error")
	switch {
	case query.Get("iss") != in.server.Issuer:
		return "", badServer(in.server.Issuer, "the answer came from another server")
	case failure == "access_denied":
		return "", loci.Errorf(loci.CodeForbidden, "the sign-in was denied in the browser")
	case failure != "":
		return "", tryAgain(in.server.Issuer, loci.Errorf(loci.CodeUnavailable, "%s refused the sign-in%s",
			in.server.Issuer, describe(failure, query.Get("error_description"))))
	case code == "" || len(code) > 4096:
		return "", badServer(in.server.Issuer, "it answered without a code")
	}
	return code, nil
}
