package rest

import (
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/op"
)

const (
	// maxPublicBody is the most bytes of a body for an operation that anybody may call: much of a
	// body could wait in memory for its end, at no cost to who sends it.
	maxPublicBody = 64 << 10
	// keepBody is the largest buffer that waits for the next request.
	keepBody = 64 << 10
)

// An input is what one request says. It is used again, and what op reads from
// it is copied there.
type input struct {
	body  httpapi.Body
	texts []op.Text
}

var inputs = sync.Pool{New: func() any { return new(input) }}

func (in *input) release() {
	clear(in.texts)
	in.texts = in.texts[:0]
	if in.body.Cap() <= keepBody {
		in.body.Reset()
		inputs.Put(in)
	}
}

// read gathers body, path and query of an operation. names are the fields of the path.
func (in *input) read(w http.ResponseWriter, r *http.Request, o *op.Op, names []string) (op.Args, error) {
	if err := in.readBody(w, r, o.Access == op.Public); err != nil {
		return op.Args{}, err
	}
	for _, name := range names {
		value := r.PathValue(name)
		if !utf8.ValidString(value) || strings.IndexByte(value, 0) >= 0 {
			return op.Args{}, loci.Fail(loci.NotFound)
		}
		in.texts = append(in.texts, op.Text{Name: name, Value: value, Place: op.InPath})
	}
	if err := in.readQuery(r.URL.RawQuery); err != nil {
		return op.Args{}, err
	}
	return op.Args{JSON: in.body.Bytes(), Split: true, Texts: in.texts}, nil
}

// readBody reads the body, if there is one: its type is judged first, then its
// size, its words later.
func (in *input) readBody(w http.ResponseWriter, r *http.Request, public bool) error {
	if r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	isJSON := isJSON(r.Header)
	if !isJSON && r.ContentLength > 0 {
		return loci.Fail(loci.UnsupportedMediaType)
	}
	most := int64(httpapi.MaxBody)
	if public {
		most = maxPublicBody
	}
	err := in.body.Receive(w, r, most)
	switch {
	case in.body.Len() > 0 && !isJSON:
		return loci.Fail(loci.UnsupportedMediaType)
	case public && loci.Is(err, loci.PayloadTooLarge):
		return loci.Fail(loci.PayloadTooLarge, "The body of this operation is larger than 64 KiB: send less.")
	}
	return err
}

// compressed reports codings that change the bytes.
func compressed(codings []string) bool {
	return slices.ContainsFunc(codings, func(c string) bool { return !strings.EqualFold(c, "identity") })
}

// isJSON reports whether the body is declared as JSON in UTF-8, uncompressed.
func isJSON(h http.Header) bool {
	types := h["Content-Type"]
	if len(types) != 1 || compressed(h["Content-Encoding"]) {
		return false
	}
	switch types[0] {
	case "application/json", "application/json; charset=utf-8":
		return true
	}
	media, params, err := mime.ParseMediaType(types[0])
	charset, given := params["charset"]
	return err == nil && media == "application/json" && (!given || strings.EqualFold(charset, "utf-8"))
}

// readQuery reads the fields of a query in their order; url.ParseQuery would
// lose it, and with it which fault is told.
func (in *input) readQuery(query string) error {
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		if pair == "" {
			continue
		}
		if strings.IndexByte(pair, ';') >= 0 {
			return loci.Fail(loci.InvalidQuery, "the fields of a query stand between &, not ;")
		}
		rawName, rawValue, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(rawName)
		value, err2 := url.QueryUnescape(rawValue)
		if err != nil || err2 != nil {
			return loci.Fail(loci.InvalidQuery, "the query holds a %% that is not followed by two hexadecimal digits: write %%25 for it")
		}
		in.texts = append(in.texts, op.Text{Name: name, Value: value, Place: op.InQuery})
	}
	return nil
}
