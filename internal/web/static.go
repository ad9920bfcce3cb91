package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/web/style"
)

// The script htmx.js is the file htmx.min.js of the npm package htmx.org 4.0.1, unchanged.
//
//go:embed static/console.css static/console.js static/htmx.js static/icons.svg static/icon.svg
var staticFiles embed.FS

// A staticFile is a style sheet, a script or pictures of the pages. Its name changes with its content, so that browsers
// keep it for good.
type staticFile struct {
	path, mediaType string
	text, gzipped   []byte
}

var mediaTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".svg": "image/svg+xml"}

var staticByName, staticByPath = loadStatic()

func loadStatic() (byName, byPath map[string]*staticFile) {
	byName, byPath = map[string]*staticFile{}, map[string]*staticFile{}
	add := func(name string, text []byte) {
		sum := sha256.Sum256(text)
		ext := path.Ext(name)
		f := &staticFile{text: text, mediaType: mediaTypes[ext],
			path: "/static/" + strings.TrimSuffix(name, ext) + "-" + hex.EncodeToString(sum[:6]) + ext}
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
		_, _ = z.Write(text)                                  // a buffer accepts all
		_ = z.Close()
		f.gzipped = b.Bytes()
		byName[name], byPath[f.path] = f, f
	}
	entries, err := staticFiles.ReadDir("static")
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		text, err := staticFiles.ReadFile("static/" + e.Name())
		if err != nil {
			panic(err)
		}
		add(e.Name(), text)
	}
	add("page.css", []byte(style.Sheet))
	return byName, byPath
}

// asset returns the path of a static file.
func asset(name string) string { return staticByName[name].path }

func staticRoutes() []httpapi.Route {
	return []httpapi.Route{{Pattern: "GET /static/{file}", Handler: http.HandlerFunc(serveStatic),
		Reason: "It is a style sheet, a script or a picture of the pages."}}
}

func serveStatic(w http.ResponseWriter, r *http.Request) {
	f := staticByPath[r.URL.Path]
	if f == nil {
		httpapi.WriteError(w, r, nil, loci.NewError(loci.CodeNotFound))
		return
	}
	h, text := w.Header(), f.text
	h.Set("Content-Type", f.mediaType)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	if acceptsGzip(r.Header) {
		h.Set("Content-Encoding", "gzip")
		text = f.gzipped
	}
	_, _ = w.Write(text) // a client that has left reads nothing
}

// acceptsGzip reports whether a client takes gzip. One that weighs its encodings gets the plain text.
func acceptsGzip(h http.Header) bool {
	for item := range strings.SplitSeq(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		if strings.TrimSpace(item) == "gzip" {
			return true
		}
	}
	return false
}
