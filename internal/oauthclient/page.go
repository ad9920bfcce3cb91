package oauthclient

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// pageHTML is the page at the end. It repeats nothing of the request.
const pageHTML = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>Loci: %[1]s</title></head>
<body><h1>%[1]s</h1><p>%[2]s</p></body></html>
`

// ServeHTTP answers the browser after the redirect.
func (in *SignIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Connection", "close")
	status, title, text := in.serve(r)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, fmt.Sprintf(pageHTML, title, text)) // nobody can read a failed write
}

func (in *SignIn) serve(r *http.Request) (status int, title, text string) {
	switch host, _ := strings.CutPrefix(in.redirect, "http://"); {
	case r.Host+callbackPath != host: // another name could lead here by DNS rebinding
		return http.StatusMisdirectedRequest, "Wrong address", "This is not the address of the sign-in."
	case r.URL.Path != callbackPath:
		return http.StatusNotFound, "Not found", "There is nothing at this address."
	case r.Method != http.MethodGet:
		return http.StatusMethodNotAllowed, "Not allowed", "The sign-in takes GET alone."
	}
	switch err := in.answer(r.Context(), r.URL.RawQuery); {
	case err == nil:
		return http.StatusOK, "Signed in", "You may close this window."
	case errors.Is(err, errForeign):
		return http.StatusBadRequest, "Not signed in", "This answer does not belong to the running sign-in."
	case errors.Is(err, errAnswered):
		return http.StatusBadRequest, "Not signed in", "This sign-in was answered before. You may close this window."
	}
	return http.StatusBadRequest, "Not signed in", "The terminal shows the reason. You may close this window."
}
