package oauth

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cache"
	"github.com/loci-memory/loci/internal/limit"
	"github.com/loci-memory/loci/internal/store/grantdb"
)

// Limits of metadata documents of clients (draft-ietf-oauth-client-id-metadata-document).
const (
	maxDocument     = 5 << 10
	documentTimeout = 5 * time.Second
	minDocumentAge  = time.Minute
	maxDocumentAge  = 24 * time.Hour
	documentAge     = 10 * time.Minute // without a header that says it
	failedFetchAge  = 30 * time.Second
)

// isDocumentID reports whether an id is meant as the address of a metadata document.
func isDocumentID(id string) bool { return strings.HasPrefix(id, "https://") }

// checkDocumentID refuses an address that cannot be the id of a client: it needs a path, and must have one spelling.
func checkDocumentID(id string) (host string, err error) {
	u, ok := parseURI(id)
	if !ok || !isDocumentID(id) || u.Host == "" || u.Path == "" || u.Path == "/" || strings.Contains(id, "?") {
		return "", documentErrorf("its address must be https, with a path, without query, fragment and userinfo")
	}
	for segment := range strings.SplitSeq(u.Path, "/") { // decoded
		if segment == "." || segment == ".." {
			return "", documentErrorf("its address must not have a segment of dots")
		}
	}
	return u.Host, nil
}

// hostnameOf returns the name of the host of a checked address, without its port.
func hostnameOf(id string) string {
	u, _ := url.Parse(id)
	return strings.ToLower(u.Hostname())
}

func documentErrorf(format string, args ...any) error {
	return loci.Errorf(loci.CodeInvalidQuery,
		"The description of the program that sent you here cannot be used: "+format+".", args...)
}

// A documentCache fetches metadata documents of clients, each at most once at a time, and keeps them for a while.
type documentCache struct {
	clock   loci.Clock
	http    *http.Client
	cached  *cache.Cache[string, *clientDocument]
	flights singleflight.Group
	limits  *fetchLimits
}

// A clientDocument is the result of a fetch.
type clientDocument struct {
	client grantdb.Client
	err    error
	until  time.Time
	known  bool // a fetch has succeeded since it is in the cache
}

// newDocumentCache returns a cache that fetches for a network limit times in 15 minutes; 0 is any number.
func newDocumentCache(clock loci.Clock, client *http.Client, limit int, caches *cache.Budget) *documentCache {
	return &documentCache{clock: clock, http: client, limits: newFetchLimits(clock, limit),
		cached: cache.New(caches, "client_documents", func(id string, _ *clientDocument) int {
			return len(id) + maxDocument
		})}
}

// errNotPublic is the error of an address that must not be dialled.
var errNotPublic = errors.New("oauth: the address is not of the public internet")

// DocumentAccess says who may serve metadata documents. A server needs the zero value: the public internet.
type DocumentAccess struct {
	Allowed func(netip.Addr) bool // nil allows the addresses of the public internet
	Roots   *x509.CertPool        // nil means those of the machine
}

// newDocumentClient returns a client that dials only allowed addresses, follows no redirect and uses no proxy. It
// checks the address that it dials, not the name, because a name may change between two look-ups (DNS rebinding).
func newDocumentClient(access DocumentAccess) *http.Client {
	allowed := access.Allowed
	if allowed == nil {
		allowed = isPublicAddress
	}
	dialer := &net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		if a, err := netip.ParseAddrPort(address); err != nil || !allowed(a.Addr()) {
			return errNotPublic
		}
		return nil
	}}
	return &http.Client{
		Timeout:       documentTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true, DisableCompression: true,
			MaxResponseHeaderBytes: 16 << 10, TLSClientConfig: &tls.Config{RootCAs: access.Roots}},
	}
}

// find returns the client with an id, for a caller in a network, and the host that vouches for it.
func (d *documentCache) find(ctx context.Context, id string, network limit.Key) (grantdb.Client, string, error) {
	host, err := checkDocumentID(id)
	if err != nil {
		return grantdb.Client{}, "", err
	}
	if kept := d.cached.Get(id); d.isFresh(kept) {
		return kept.client, host, kept.err
	}
	flight := d.flights.DoChan(id, func() (any, error) {
		return d.refresh(context.WithoutCancel(ctx), id, network) // for all that wait
	})
	select {
	case got := <-flight:
		if got.Err != nil {
			return grantdb.Client{}, "", got.Err
		}
		fetched := got.Val.(*clientDocument)
		return fetched.client, host, fetched.err
	case <-ctx.Done():
		return grantdb.Client{}, "", ctx.Err()
	}
}

func (d *documentCache) isFresh(kept *clientDocument) bool {
	return kept != nil && d.clock().Before(kept.until)
}

// refresh fetches a document within the limits, and keeps the result.
func (d *documentCache) refresh(ctx context.Context, id string, network limit.Key) (*clientDocument, error) {
	kept := d.cached.Get(id)
	if d.isFresh(kept) { // since the caller looked
		return kept, nil
	}
	ctx, cancel := context.WithTimeout(ctx, documentTimeout)
	defer cancel()
	known := kept != nil && kept.known
	release, err := d.limits.acquire(ctx, network, limit.Network(hostnameOf(id)), known)
	if err != nil {
		return nil, err
	}
	doc := d.fetch(ctx, id)
	release(doc.err == nil)
	doc.known = known || doc.err == nil
	d.cached.Put(id, doc)
	return doc, nil
}

// fetch fetches and checks a document. Its error does not say how far the fetch came: a stranger could explore
// networks.
func (d *documentCache) fetch(ctx context.Context, id string) *clientDocument {
	doc := &clientDocument{until: d.clock().Add(failedFetchAge)}
	body, header, err := d.get(ctx, id)
	if err != nil {
		doc.err = documentErrorf("%s does not show it", hostnameOf(id))
		return doc
	}
	m, err := parseMetadata(body)
	switch {
	case err != nil:
		doc.err = documentErrorf("%s", asProtocolError(err, codeInvalidMetadata).description)
	case m.ID != id:
		doc.err = documentErrorf("its client_id is not its address")
	case strings.HasPrefix(m.TokenAuth, "client_secret"):
		doc.err = documentErrorf("it asks for a secret, which a public document cannot have")
	default:
		doc.client = m.client(id, loci.Time(d.clock().UnixMicro()))
		doc.until = d.clock().Add(freshness(header))
	}
	return doc
}

// get reads the body of a document.
func (d *documentCache) get(ctx context.Context, id string) ([]byte, http.Header, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, id, nil)
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "Loci")
	w, err := d.http.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer w.Body.Close()
	body, err := io.ReadAll(io.LimitReader(w.Body, maxDocument+1))
	switch {
	case err != nil:
		return nil, nil, err
	case w.StatusCode != http.StatusOK || len(body) > maxDocument || !hasMediaType(w.Header, "application/json"):
		return nil, nil, errors.New("oauth: no document of JSON within the limit")
	}
	return body, w.Header, nil
}

// freshness returns how long a document is kept, by its Cache-Control within limits.
func freshness(h http.Header) time.Duration {
	age := documentAge
	for directive := range strings.SplitSeq(strings.ToLower(strings.Join(h.Values("Cache-Control"), ",")), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		seconds, err := strconv.Atoi(strings.Trim(value, `"`))
		switch {
		case name == "no-store" || name == "no-cache":
			return minDocumentAge
		case name == "max-age" && err == nil:
			age = time.Duration(min(max(seconds, 0), int(maxDocumentAge/time.Second))) * time.Second
		}
	}
	return min(max(age, minDocumentAge), maxDocumentAge)
}
