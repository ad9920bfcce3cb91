package rest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
)

// ContractVersion is the version of the contract that the API keeps.
const ContractVersion = "0.8.3"

// routes lists the hand-written routes, each with its reason.
func (d *handler) routes() []Route {
	all := []Route{
		{"GET /health", d.health(), "It is asked all the time, by those who hold no credential.", describeHealth},
	}
	if d.Pages != nil {
		all = append(all, d.pageRoutes()...)
	}
	all = append(all, d.ExtraRoutes...)
	self := Route{"GET /openapi.json", nil, "It describes the operations.", describeOpenAPI}
	body := d.openAPIDocument(append(all, self))
	self.Handler = staticJSON(body)
	return append(all, self)
}

// pageRoutes lists the pages for people. Their forms run operations, and so the
// document lists only the pages that links lead to.
func (d *handler) pageRoutes() []Route {
	const page, form = "It is a page for people.", "It is the form of a page, and runs operations."
	return []Route{
		{"GET /{$}", http.HandlerFunc(d.homePage), page, nil},
		{"GET /signin", http.HandlerFunc(d.signInPage), page, nil},
		{"POST /signin", http.HandlerFunc(d.signInForm), form, nil},
		{"POST /signout", http.HandlerFunc(d.signOutForm), form, nil},
		{"POST /key", http.HandlerFunc(d.keyForm), form, nil},
		{"GET /setup", http.HandlerFunc(d.setupPage), page,
			describePage("setup", "Show the form that creates the first user.")},
		{"POST /setup", http.HandlerFunc(d.setupForm), form, nil},
		{"GET /invite", http.HandlerFunc(d.invitePage), page,
			describePage("invite", "Show an invitation and the forms that answer it.")},
		{"POST /invite", http.HandlerFunc(d.inviteForm), form, nil},
	}
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

// staticJSON serves bytes that are the same for the life of the process.
func staticJSON(body []byte) http.Handler {
	sum := sha256.Sum256(body)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("ETag", tag)
		h.Set("Cache-Control", "no-cache")
		if etagMatches(r.Header.Values("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		h.Set("Content-Type", contentTypeJSON)
		h.Set("Content-Length", strconv.Itoa(len(body)))
		w.Write(body)
	})
}
