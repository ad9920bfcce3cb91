package httpapi

import (
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
)

// A Site is the server as browsers see it: its address, the origins of its pages, and the cookie of a sign-in.
type Site struct {
	PublicURL string // address of the service for clients; empty means the Host of the request
	// PublicURLInferred reports that PublicURL follows from the listener alone, so that the Host of a request is more
	// exact.
	PublicURLInferred bool
	Origins           *Origins // whose pages may call from a browser; a nil one is the server's own alone
	TrustedProxies    Proxies  // the peers whose X-Forwarded-For and X-Forwarded-Proto count
}

// The cookies of a signed-in browser. The first one is Secure: a browser keeps it only from a server over https or on
// this machine.
const (
	secureCookieName   = "__Host-loci"
	insecureCookieName = "loci_session"
)

// IsSecure reports whether a browser reached the server in a way in which it keeps Secure cookies: over https, or on a
// loopback address. The first of these decides:
//   - TLS, or a public URL with https, because the last of several proxies may say http
//   - the X-Forwarded-Proto of a trusted proxy
//   - a public URL that is not secure, because a proxy may have written a loopback address into Host
//   - the Host
func (s *Site) IsSecure(r *http.Request) bool {
	public := s.configuredURL()
	if r.TLS != nil || strings.HasPrefix(public, "https://") {
		return true
	}
	if proto := r.Header.Values("X-Forwarded-Proto"); len(proto) == 1 && s.TrustedProxies.FromTrustedProxy(r) {
		first, _, _ := strings.Cut(proto[0], ",")
		return strings.EqualFold(strings.TrimSpace(first), "https")
	}
	return IsSecureURL(public) && IsLoopback(r.Host)
}

// configuredURL returns the public URL if the operator set one.
func (s *Site) configuredURL() string {
	if s.PublicURLInferred {
		return ""
	}
	return s.PublicURL
}

// cookieName returns the name of the cookie that the browser of a request keeps.
func (s *Site) cookieName(r *http.Request) string { return CookieName(s.IsSecure(r)) }

// CookieName returns the name of the cookie over a connection.
func CookieName(secure bool) string {
	if secure {
		return secureCookieName
	}
	return insecureCookieName
}

// safeHost is a Host header that may be a word of a shell command.
var safeHost = regexp.MustCompile(`^[A-Za-z0-9.\-_:\[\]]+$`)

// BaseURL returns the address of the server as the browser of a request reached it.
func (s *Site) BaseURL(r *http.Request) string {
	switch {
	case s.configuredURL() != "":
		return s.configuredURL()
	case !safeHost.MatchString(r.Host):
		return "http://localhost"
	case s.IsSecure(r) && !IsLoopback(r.Host):
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// AddCookie makes the cookie of a request the credential of its call, unless the request has an Authorization header.
// It also notes whether a page of another origin may have sent the request.
func (s *Site) AddCookie(r *http.Request, c *op.Call) {
	c.CrossOrigin = s.Origins.IsForgeable(r)
	if r.Header.Values("Authorization") != nil {
		return
	}
	if cookie, err := r.Cookie(s.cookieName(r)); err == nil {
		c.Credential, c.CredentialKind = cookie.Value, identity.CredentialCookie
	}
}

// A CookieSetter output changes what the browser keeps.
type CookieSetter interface{ Cookie() loci.SignIn }

// SetCookie sets or ends the cookie of a browser if the output of an operation says so. The cookie is then the
// credential of the call.
func (s *Site) SetCookie(w http.ResponseWriter, r *http.Request, c *op.Call, out any) {
	setter, ok := out.(CookieSetter)
	if !ok {
		return
	}
	in := setter.Cookie()
	http.SetCookie(w, s.newCookie(r, in))
	c.Credential, c.CredentialKind = in.Secret, identity.CredentialCookie
}

func (s *Site) newCookie(r *http.Request, in loci.SignIn) *http.Cookie {
	age := int(in.MaxAge / time.Second)
	if in.Secret == "" || age <= 0 {
		age = -1
	}
	name := s.cookieName(r)
	return &http.Cookie{
		Name: name, Value: in.Secret, Path: "/", MaxAge: age,
		Secure: name == secureCookieName, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
}
