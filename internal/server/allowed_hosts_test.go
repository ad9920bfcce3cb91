package server

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/testenv"
)

// A page of evil.example, whose name resolves to this machine, has the same origin as the server.
func TestLoopbackServerRejectsOtherHosts(t *testing.T) {
	t.Parallel()
	url, _, _, _ := start(t, map[string]string{"public-url": "https://loci.example.org"})
	for host, want := range map[string]int{
		"evil.example": 403, "evil.example:7007": 403, "127.0.0.1": 401, "localhost:80": 401, "loci.example.org": 401,
		"[::1]:7007": 401,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/v1/status", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		res, err := testenv.Client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var p op.ErrorBody
		err = json.NewDecoder(res.Body).Decode(&p)
		res.Body.Close()
		if err != nil || res.StatusCode != want || want == 403 &&
			(p.Code != "forbidden" || p.RequestID == "" || p.RequestID != res.Header.Get("X-Request-Id")) {
			t.Errorf("Host: %s: %d %+v %v, want %d", host, res.StatusCode, p, err, want)
		}
	}
}

func TestRESTChecksHostsOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	own := httpapi.NewAllowedHosts("", nil)
	for listen, want := range map[string]*httpapi.AllowedHosts{
		"127.0.0.1:7007": own, "localhost:7007": own, "[::1]:7007": own, "127.3.0.1:7007": own, "0.0.0.0:7007": nil,
		":7007": nil, "192.168.1.5:7007": nil, "box:7007": nil,
	} {
		if got := (Settings{Listen: listen}).restHosts(own); got != want {
			t.Errorf("%s: %v", listen, got)
		}
	}
}
