package client

import (
	"context"
	"net/http"
	"time"

	"github.com/loci-memory/loci"
)

// storagePath begins the paths of the operations that take a file token in place of the credential of the client.
const storagePath = "/functions/v1/loci/storage/"

// fileTokenMargin is the time before its end at which a file token is replaced.
const fileTokenMargin = 30 * time.Second

// A fileToken is the token for files of a client. Concurrent calls share it, and one exchange.
type fileToken struct {
	lock    chan struct{} // holds an element while it is locked
	text    string
	expires time.Time
}

func newFileToken() *fileToken { return &fileToken{lock: make(chan struct{}, 1)} }

// get returns the token, or exchanges the credential of the client for another one. rejected is the token that the
// server has refused, or "".
func (t *fileToken) get(ctx context.Context, c *Client, rejected string) (string, error) {
	select {
	case t.lock <- struct{}{}:
		defer func() { <-t.lock }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if t.text != "" && t.text != rejected && time.Until(t.expires) > fileTokenMargin {
		return t.text, nil
	}
	next, err := c.FileExchange(ctx, repeatable)
	if err != nil {
		return "", err
	}
	if !isHeaderSafe(next.Token) {
		return "", &loci.Error{Code: loci.CodeInternalError, Message: "The server returned an unreadable file token."}
	}
	t.text, t.expires = next.Token, next.ExpiresAt.Std()
	return t.text, nil
}

// repeatable marks a call that may be sent twice.
func repeatable(x *request) { x.repeatable = true }

// withoutCredentials returns the HTTP client for addresses that may be those of another host. It has no cookies and no
// deadline: a transfer lasts as long as it makes progress.
func (c *Client) withoutCredentials() *http.Client {
	h := *c.http
	h.Timeout, h.Jar = 0, nil
	if h.Transport == http.RoundTripper(sharedTransport()) {
		h.Transport = transferTransport()
	}
	return &h
}
