package rest

import (
	"encoding/json"
	"net/http"
	"sync"

	"github.com/loci-memory/loci/internal/httpapi"
)

// ContractVersion is the version of the contract that the API keeps.
const ContractVersion = "0.8.3"

// routes lists the hand-written routes, each with its reason.
func (d *handler) routes() []httpapi.Route {
	all := []httpapi.Route{
		{Pattern: "GET /health", Handler: Health(d.ServiceVersion), Describe: describeHealth,
			Reason: "It is asked all the time, by those who hold no credential."},
	}
	all = append(all, d.ExtraRoutes...)
	self := httpapi.Route{Pattern: "GET /openapi.json", Reason: "It describes the operations.",
		Describe: describeOpenAPI}
	all = append(all, self)
	// The document takes longer to print than all else that a server prepares, and few servers are asked for it.
	document := sync.OnceValue(func() http.Handler { return httpapi.StaticJSON(d.openAPIDocument(all)) })
	all[len(all)-1].Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		document().ServeHTTP(w, r)
	})
	return all
}

// Health answers GET /health: it reports that the server runs. It calls nothing, so that it costs nothing.
func Health(version string) http.HandlerFunc {
	body, err := json.Marshal(httpapi.Health{OK: true, Service: httpapi.ServiceName, Version: version,
		Contract: ContractVersion})
	if err != nil {
		panic("rest: " + err.Error())
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentTypeJSON)
		w.Write(body)
	}
}
