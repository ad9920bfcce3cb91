package doctor

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/server"
	"github.com/loci-memory/loci/internal/server/listen"
)

// maxBody bounds what is read of a response.
const maxBody = 4 << 20

// get reads a response of any status.
func (x *examination) get(ctx context.Context, address string) (header http.Header, body []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, nil, err
	}
	w, err := x.client.Do(r)
	if e, ok := errors.AsType[*url.Error](err); ok {
		return nil, nil, fmt.Errorf("%s does not answer: %w", address, e.Err)
	} else if err != nil {
		return nil, nil, err
	}
	defer w.Body.Close()
	body, err = io.ReadAll(io.LimitReader(w.Body, maxBody))
	return w.Header, body, err
}

// health returns the version of the Loci server at an address, and the header of its response.
func (x *examination) health(ctx context.Context, address string) (version string, header http.Header, err error) {
	header, body, err := x.get(ctx, address+"/health")
	if err != nil {
		return "", nil, err
	}
	health, isLoci := httpapi.ParseHealth(body)
	if !isLoci {
		return "", nil, fmt.Errorf("%s does not answer as a Loci server does", address)
	}
	return health.Version, header, nil
}

// checkServer reports what the running server says of itself.
func (x *examination) checkServer(ctx context.Context) {
	address := listen.LocalURL(x.Listen)
	version, _, err := x.health(ctx, address)
	if err != nil {
		x.add("server", Warn, errorText(err)+". What needs a running server was not examined",
			"start it: loci serve, or systemctl start loci")
		return
	}
	x.running = true
	if x.MetricsListen == "" {
		x.ok("server", "%s answers at %s; set LOCI_METRICS_LISTEN to see more of it", version, address)
		return
	}
	monitoring := listen.LocalURL(x.MetricsListen)
	_, body, err := x.get(ctx, monitoring+"/ready")
	var ready server.Readiness
	if err == nil {
		err = json.Unmarshal(body, &ready)
	}
	if err != nil {
		x.add("server", Warn, monitoring+"/ready cannot be read: "+errorText(err), "correct LOCI_METRICS_LISTEN")
		return
	}
	if x.problems("server", append(ready.Failed, withoutDisk(ready.Damage)...)) {
		return
	}
	x.ok("server", "%s is ready at %s", version, address)
}

// readMetrics reads the metrics of the running server.
func (x *examination) readMetrics(ctx context.Context) {
	if !x.running || x.MetricsListen == "" {
		return
	}
	if _, body, err := x.get(ctx, listen.LocalURL(x.MetricsListen)+"/metrics"); err == nil {
		x.metrics = parseMetrics(body)
	}
}

// parseMetrics returns the metrics without labels of a page of Prometheus.
func parseMetrics(page []byte) map[string]float64 {
	found := map[string]float64{}
	for lines := bufio.NewScanner(bytes.NewReader(page)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			found[name] = n
		}
	}
	return found
}

// checkPublicURL looks for the server at its public address, as people reach it.
func (x *examination) checkPublicURL(ctx context.Context) {
	if x.PublicURL == "" {
		x.ok("public-url", "not tried: LOCI_PUBLIC_URL is not set, and no server has started")
		return
	}
	version, header, err := x.health(ctx, x.PublicURL)
	switch {
	case err != nil && x.running:
		x.add("public-url", Fail, errorText(err), "let the name of LOCI_PUBLIC_URL, its certificate and the proxy "+
			"lead to "+listen.LocalURL(x.Listen)+", or correct it")
		return
	case err != nil:
		x.add("public-url", Warn, errorText(err), "start the server, then try again")
		return
	}
	x.ok("public-url", "%s answers at %s", version, x.PublicURL)
	if at, err := http.ParseTime(header.Get("Date")); err == nil && x.skew == nil {
		skew := time.Since(at)
		x.skew = &skew
	}
}

// checkProxies reports a proxy whose X-Forwarded-For the server ignores.
func (x *examination) checkProxies() {
	switch n, known := x.metrics[server.IgnoredProxiesMetric]; {
	case !known:
		x.ok("proxies", "not tried: look for \"a proxy is not trusted\" in the log, or set LOCI_METRICS_LISTEN")
	case n > 0:
		x.add("proxies", Warn, fmt.Sprintf("a proxy that is not trusted sends X-Forwarded-For, so that all its "+
			"clients count as one (requests: %.0f)", n), "set LOCI_TRUSTED_PROXIES to the network of the proxy "+
			"(127.0.0.1 for one on this machine)")
	default:
		x.ok("proxies", "no forwarded request was ignored")
	}
}
