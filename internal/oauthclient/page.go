package oauthclient

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"html/template"
	"net/http"
	"strings"

	"github.com/loci-memory/loci/internal/web/style"
)

// page is the page at the end. It repeats nothing of the request.
var page = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Loci: {{.Title}}</title>
<link rel="icon" href="{{.Icon}}">
<style>{{.Sheet}}</style>
</head>
<body>
<header><strong>Loci</strong></header>
<main>
<h1>{{.Title}}</h1>
{{if .Done}}<p class="done" role="status">{{.Text}}</p>{{else}}<div role="alert"><p>{{.Text}}</p></div>{{end}}
</main>
</body>
</html>
`))

// policy allows the style sheet, by its hash, and nothing else.
var policy = func() string {
	sum := sha256.Sum256([]byte(style.Sheet))
	return "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; img-src data:; " +
		"style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}()

// ServeHTTP answers the browser after the redirect.
func (in *SignIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", policy)
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Connection", "close")
	status, title, text := in.serve(r)
	w.WriteHeader(status)
	_ = page.Execute(w, map[string]any{"Title": title, "Text": text, "Done": status == http.StatusOK,
		"Sheet": template.CSS(style.Sheet), "Icon": template.URL(style.Icon)}) // nobody can read a failed write
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
		return http.StatusOK, "Signed in", "You may close this window: the terminal goes on."
	case errors.Is(err, errForeign):
		return http.StatusBadRequest, "Not signed in", "This answer does not belong to the running sign-in."
	case errors.Is(err, errAnswered):
		return http.StatusBadRequest, "Not signed in", "This sign-in was answered before. You may close this window."
	}
	return http.StatusBadRequest, "Not signed in", "The terminal shows the reason. You may close this window."
}
