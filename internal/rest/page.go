package rest

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"net/http"
)

//go:embed page
var pageFiles embed.FS

var (
	pages      = template.Must(template.ParseFS(pageFiles, "page/*.html"))
	pageStyle  = pageText("page/page.css")
	setupPage  = page{Name: "setup.html", Script: template.JS(pageText("page/setup.js"))}
	invitePage = page{Name: "invite.html"}
)

// A page is one of the few that the server renders itself.
type page struct {
	Name   string
	Script template.JS
	Token  string
}

// Style is the one style sheet of all pages.
func (page) Style() template.CSS { return template.CSS(pageStyle) }

func pageText(name string) string {
	b, err := pageFiles.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// policy allows the page its own style and script, by their hashes, and to
// talk to this server; nothing else.
func (p page) policy() string {
	s := "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; img-src data:; style-src " + hashOf(pageStyle)
	if p.Script != "" {
		s += "; connect-src 'self'; script-src " + hashOf(string(p.Script))
	}
	return s
}

func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// pageHandler serves a page. The token of a setup link goes from the address
// into the form; it is judged when the form is sent.
func pageHandler(p page) http.Handler {
	policy := []string{p.policy()}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := p
		p.Token = r.URL.Query().Get("token")
		var b bytes.Buffer
		if err := pages.ExecuteTemplate(&b, p.Name, p); err != nil {
			panic(err) // the templates are fixed, and a test renders them
		}
		h := w.Header()
		h["Content-Type"] = []string{"text/html; charset=utf-8"}
		h["Content-Security-Policy"] = policy
		h["Referrer-Policy"] = []string{"no-referrer"}
		h["X-Frame-Options"] = []string{"DENY"}
		w.Write(b.Bytes())
	})
}
