package oauthclient

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/contextio"
)

// A Client is this program as a server knows it, with the endpoints that it uses after the sign-in.
type Client struct {
	ID         string `json:"id"`
	Issuer     string `json:"issuer"`
	Token      string `json:"tokenEndpoint"`
	Revocation string `json:"revocationEndpoint"`
}

// Tokens are the tokens of a grant. ExpiresAt is the end of the access token.
type Tokens struct {
	Access    string    `json:"access"`
	Refresh   string    `json:"refresh"`
	ExpiresAt time.Time `json:"expiresAt"`
	Account   bool      `json:"account,omitzero"` // they reach everything that the person may do
}

// ErrEnded reports that the grant has ended: the person must sign in again.
var ErrEnded = errors.New("the grant has ended")

// callbackPath is the path of the redirect. The server ignores its port, which is free at each sign-in (RFC 8252).
const callbackPath = "/callback"

// Register registers this program at the server. The consent page shows name.
func (s Server) Register(ctx context.Context, name string) (Client, error) {
	in := map[string]any{"client_name": name, "redirect_uris": []string{"http://127.0.0.1" + callbackPath},
		"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
		"token_endpoint_auth_method": "none", "application_type": "native", "scope": scope}
	var out struct {
		ID string `json:"client_id"`
	}
	if err := postJSON(ctx, s.Registration, in, &out); err != nil {
		return Client{}, err
	}
	if out.ID == "" || len(out.ID) > 1000 {
		return Client{}, badServer(s.Issuer, "its registration returns no client_id")
	}
	return s.client(out.ID), nil
}

func (s Server) client(id string) Client { return Client{id, s.Issuer, s.Token, s.Revocation} }

// IsRegistered reports whether the server still knows the client. The server deletes clients without grants. A browser
// would show its error only to the person, so the token endpoint is asked first, with a token that no server issues.
func (s Server) IsRegistered(ctx context.Context, c Client) (bool, error) {
	if c.ID == "" || c.Issuer != s.Issuer {
		return false, nil
	}
	err := postForm(ctx, s.Token, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {"-"},
		"client_id": {c.ID}}, nil)
	switch code := oauthCode(err); {
	case code == "invalid_client":
		return false, nil
	case code != "":
		return true, nil
	case err == nil:
		return false, badServer(s.Issuer, "it accepts any token")
	}
	return false, err
}

// redeem exchanges a code for tokens. It is never repeated: a code that comes twice ends its grant.
func (s Server) redeem(ctx context.Context, c Client, code, verifier, redirect string) (Tokens, error) {
	t, err := requestTokens(ctx, s.Token, url.Values{"grant_type": {"authorization_code"}, "code": {code},
		"client_id": {c.ID}, "redirect_uri": {redirect}, "code_verifier": {verifier}, "resource": {s.Resource}})
	if err != nil && ctx.Err() == nil {
		err = tryAgain(s.Issuer, err)
	}
	return t, err
}

// tryAgain adds the command that starts the sign-in again.
func tryAgain(issuer string, err error) error {
	e := *loci.AsError(err)
	e.Message += "; try again: loci login " + issuer
	return &e
}

const (
	// refreshTries times the longest request stays far below ReuseWindow.
	refreshTries = 3
	// ReuseWindow is the time in which a server answers a repeated refresh token with the same tokens.
	ReuseWindow = 120 * time.Second
	// maxPause is the longest pause before a retry, also where the server asks for more.
	maxPause = 5 * time.Second
)

// Refresh exchanges a refresh token for new tokens. ErrEnded means that the grant has ended. A lost response is asked
// for again with the same token, which the server allows within ReuseWindow.
func (c Client) Refresh(ctx context.Context, token string) (t Tokens, err error) {
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}, "client_id": {c.ID}}
	for try := 1; ; try++ {
		t, err = requestTokens(ctx, c.Token, form)
		switch code := oauthCode(err); {
		case err == nil && t.Refresh == "":
			t.Refresh = token
			return t, nil
		case code == "invalid_grant" || code == "invalid_client":
			return Tokens{}, ErrEnded
		case err == nil || try == refreshTries || !isTemporary(err) || !pause(ctx, try, loci.AsError(err).RetryAfter):
			return t, err
		}
	}
}

// isTemporary reports whether a repeated request may succeed.
func isTemporary(err error) bool {
	e, ok := errors.AsType[*statusError](err)
	return !ok || e.status >= 500 || e.status == http.StatusTooManyRequests
}

// pause waits before a retry; false means not to retry.
func pause(ctx context.Context, try int, asked time.Duration) bool {
	wait := max(asked, 250*time.Millisecond<<try)
	return wait <= maxPause && contextio.Sleep(ctx, wait)
}

// Revoke ends the grant of a token (RFC 7009).
func (c Client) Revoke(ctx context.Context, token string) error {
	return postForm(ctx, c.Revocation, url.Values{"token": {token}, "client_id": {c.ID}}, nil)
}

// requestTokens posts a form to a token endpoint and checks the tokens of the response.
func requestTokens(ctx context.Context, endpoint string, form url.Values) (Tokens, error) {
	var out struct {
		Access    string  `json:"access_token"`
		Refresh   string  `json:"refresh_token"`
		Type      string  `json:"token_type"`
		Scope     *string `json:"scope"`
		ExpiresIn int64   `json:"expires_in"`
	}
	began := time.Now()
	if err := postForm(ctx, endpoint, form, &out); err != nil {
		return Tokens{}, err
	}
	var scopes []string
	if out.Scope != nil {
		scopes = strings.Fields(*out.Scope)
	}
	switch {
	case !isToken(out.Access) || out.Refresh != "" && !isToken(out.Refresh) || !strings.EqualFold(out.Type, "bearer"):
		return Tokens{}, badServer(endpoint, "its response has no bearer token")
	case out.Scope != nil && !slices.Contains(scopes, scope):
		return Tokens{}, badServer(endpoint, "its token lacks the scope "+scope)
	case out.ExpiresIn < 1 || out.ExpiresIn > 10*365*24*3600:
		return Tokens{}, badServer(endpoint, "its response does not say when the token ends")
	}
	return Tokens{out.Access, out.Refresh, began.Add(time.Duration(out.ExpiresIn) * time.Second).UTC().Round(0),
		slices.Contains(scopes, accountScope)}, nil
}

// isToken reports whether a text can be sent as a token: printable ASCII of bounded length.
func isToken(text string) bool { return text != "" && isPrintable(text, 4096) }

// isPrintable reports whether a text is printable ASCII without spaces, of bounded length.
func isPrintable(text string, limit int) bool {
	return len(text) <= limit && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}
