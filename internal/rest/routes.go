package rest

import (
	"encoding/json"
	"net/http"

	"github.com/loci-memory/loci/internal/httpapi"
)

// ContractVersion is the version of the contract that the API keeps.
const ContractVersion = "0.8.3"

// routes lists the hand-written routes, each with its reason.
func (d *handler) routes() []httpapi.Route {
	all := []httpapi.Route{
		{Pattern: "GET /health", Handler: d.health(), Describe: describeHealth,
			Reason: "It is asked all the time, by those who hold no credential."},
	}
	all = append(all, d.ExtraRoutes...)
	self := httpapi.Route{Pattern: "GET /openapi.json", Reason: "It describes the operations.",
		Describe: describeOpenAPI}
	body := d.openAPIDocument(append(all, self))
	self.Handler = httpapi.StaticJSON(body)
	return append(all, self)
}

// health reports that the server runs. It calls nothing, so that it costs nothing.
func (d *handler) health() http.HandlerFunc {
	body, err := json.Marshal(struct {
		OK       bool   `json:"ok"`
		Service  string `json:"service"`
		Version  string `json:"version,omitzero"`
		Contract string `json:"contract"`
	}{true, "loci", d.ServiceVersion, ContractVersion})
	if err != nil {
		panic("rest: " + err.Error())
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentTypeJSON)
		w.Write(body)
	}
}
