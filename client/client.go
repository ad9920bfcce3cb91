// Package client is the Go client of a Loci server: one method for each operation, with the types of package loci.
//
//	c, err := client.New("https://loci.example.org", client.WithKey(key))
//	made, err := c.MemoryCreate(ctx, loci.CreateMemory{Content: "The cat is called Ada."})
//
// AttachmentUpload and AttachmentDownload return the address of a file. PutFile and GetFile move its bytes.
//
// A refusal of the server is returned as its *loci.Error, and an unreachable server as one with the code unavailable. A
// Client is safe for use by several goroutines.
package client

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci"
)

//go:generate go run ./generate ops.go

// A Client calls one Loci server.
type Client struct {
	baseURL        string // without a trailing slash
	key            string
	tokens         TokenSource // in place of key
	http           *http.Client
	allowPlainHTTP bool
	userAgent      string        // User-Agent
	maxBackoff     time.Duration // the longest pause before a retry
	maxTries       int
	fileToken      *fileToken
	stall          time.Duration // the longest time in which a transfer of bytes makes no progress
}

// An Option configures a Client.
type Option func(*Client)

// WithKey sets the API key.
func WithKey(key string) Option { return func(c *Client) { c.key = key } }

// A TokenSource returns the access token for a request. rejected is "", or the token that the server has just refused
// with 401: the source returns another one then, or the error that ends the call. Several goroutines call it.
type TokenSource func(ctx context.Context, rejected string) (token string, err error)

// WithTokenSource sets the source of access tokens, in place of a key. After 401 a call is repeated once, with another
// token. The server has not run a call that it answers with 401, so a write is repeated too.
func WithTokenSource(tokens TokenSource) Option { return func(c *Client) { c.tokens = tokens } }

// WithHTTP sets the HTTP client, for a proxy, a certificate or a deadline.
// Redirects are not followed, even if it allows them.
func WithHTTP(h *http.Client) Option {
	return func(c *Client) {
		own := *h
		c.http = &own
	}
}

// WithUserAgent sets the User-Agent header.
func WithUserAgent(name string) Option { return func(c *Client) { c.userAgent = name } }

// WithPlainHTTP allows sending a key or token over http to another machine. Anyone on the network path can read it.
func WithPlainHTTP() Option { return func(c *Client) { c.allowPlainHTTP = true } }

// WithRetry sets the most attempts of a call, and the longest pause before a retry. If the server requests a longer
// pause, the call is not retried. By default a call is tried 4 times with pauses of at most 20 seconds.
func WithRetry(tries int, maxPause time.Duration) Option {
	return func(c *Client) { c.maxTries, c.maxBackoff = max(1, tries), maxPause }
}

// New returns a client of the server at address, such as https://loci.example.org.
func New(address string, options ...Option) (*Client, error) {
	c := &Client{http: &http.Client{Transport: sharedTransport(), Timeout: time.Minute}, userAgent: "loci-go",
		maxBackoff: 20 * time.Second, maxTries: 4, fileToken: newFileToken(), stall: 2 * time.Minute}
	for _, o := range options {
		o(c)
	}
	// A redirect could send the key to another host, or without TLS.
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, loci.Errorf(loci.CodeInvalidQuery, "the server's address must be like https://loci.example.org")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, loci.Errorf(loci.CodeInvalidQuery,
			"the server's address must not contain a user, query or fragment: remove it")
	case c.key != "" && c.tokens != nil:
		return nil, loci.Errorf(loci.CodeInvalidQuery, "a client has a key or a token source, not both")
	case (c.key != "" || c.tokens != nil) && u.Scheme == "http" && !c.allowPlainHTTP && !isLoopback(u.Hostname()):
		return nil, loci.Errorf(loci.CodeInvalidQuery, "%s would send the key unencrypted: use https", u.Host)
	case !isHeaderSafe(c.key):
		return nil, loci.Errorf(loci.CodeInvalidQuery, "the key contains an invalid character: copy it again")
	}
	c.baseURL = strings.TrimRight(u.String(), "/")
	return c, nil
}

// isHeaderSafe reports whether a credential has only characters that a header may have.
func isHeaderSafe(credential string) bool {
	return !strings.ContainsFunc(credential, func(r rune) bool { return r <= ' ' || r > '~' })
}

// URL returns the server's address.
func (c *Client) URL() string { return c.baseURL }

// sharedTransport returns the transport of all clients of a program: they share connections.
var sharedTransport = sync.OnceValue(func() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	t.ResponseHeaderTimeout = 45 * time.Second
	t.MaxIdleConnsPerHost = 16
	return t
})

// isLoopback reports whether host is this machine.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
