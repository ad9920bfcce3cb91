package rest

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
)

// Version is the version of the contract that the API keeps.
const Version = "0.8.3"

// routes lists the hand-written routes, each with its reason.
func (d *door) routes() []Route {
	all := []Route{
		{"GET /health", http.HandlerFunc(health), "It is asked all the time, by those who hold no credential.", describeHealth},
		{"GET /setup", pageHandler(setupPage), "It is a page for people.", describePage("setup", "Show the form that creates the first user.")},
		{"GET /invite", pageHandler(invitePage), "It is a page for people.", describePage("invite", "Explain how to answer an invitation.")},
	}
	all = append(all, d.Extra...)
	self := Route{"GET /openapi.json", nil, "It describes the operations.", describeDocument}
	body := d.document(append(all, self))
	self.Handler = constant(body)
	return append(all, self)
}

// health says that the server is there. It asks nobody, so that it costs nothing.
func health(w http.ResponseWriter, _ *http.Request) {
	w.Header()["Content-Type"] = typeJSON
	w.Write([]byte(`{"ok":true,"service":"loci","version":"` + Version + `"}`))
}

// constant serves bytes that are the same for the life of the process.
func constant(body []byte) http.Handler {
	sum := sha256.Sum256(body)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h["Etag"] = []string{tag}
		h["Cache-Control"] = []string{"no-cache"}
		if matches(r.Header["If-None-Match"], tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		h["Content-Type"] = typeJSON
		h["Content-Length"] = []string{strconv.Itoa(len(body))}
		w.Write(body)
	})
}
