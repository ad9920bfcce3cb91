package rest

import (
	"net/http"
	"net/url"
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
	// maxPooledBuffer is the largest buffer that waits for the next request.
	maxPooledBuffer = 64 << 10
)

// An requestReader is what one request says. It is used again, and what op reads from
// it is copied there.
type requestReader struct {
	body   httpapi.Body
	params []op.Param
}

var requestReaderPool = sync.Pool{New: func() any { return new(requestReader) }}

func (in *requestReader) release() {
	clear(in.params)
	in.params = in.params[:0]
	if in.body.Cap() <= maxPooledBuffer {
		in.body.Reset()
		requestReaderPool.Put(in)
	}
}

// read gathers body, path and query of an operation. names are the fields of the path.
func (in *requestReader) read(w http.ResponseWriter, r *http.Request, o *op.Op, names []string) (op.Args, error) {
	if err := in.readBody(w, r, o.Access == op.Public); err != nil {
		return op.Args{}, err
	}
	for _, name := range names {
		value := r.PathValue(name)
		if !utf8.ValidString(value) || strings.IndexByte(value, 0) >= 0 {
			return op.Args{}, loci.NewError(loci.CodeNotFound)
		}
		in.params = append(in.params, op.Param{Name: name, Value: value, Location: op.InPath})
	}
	if err := in.readQuery(r.URL.RawQuery); err != nil {
		return op.Args{}, err
	}
	return op.Args{JSON: in.body.Bytes(), FromHTTP: true, Params: in.params}, nil
}

// readBody reads the body, if there is one: its type is judged first, then its
// size, its words later.
func (in *requestReader) readBody(w http.ResponseWriter, r *http.Request, public bool) error {
	if r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	isJSON := httpapi.IsJSON(r.Header)
	if !isJSON && r.ContentLength > 0 {
		return loci.NewError(loci.CodeUnsupportedMediaType)
	}
	limit := int64(httpapi.MaxBody)
	if public {
		limit = maxPublicBody
	}
	err := in.body.ReadLimited(w, r, limit)
	switch {
	case in.body.Len() > 0 && !isJSON:
		return loci.NewError(loci.CodeUnsupportedMediaType)
	case public && loci.Is(err, loci.CodePayloadTooLarge):
		return loci.NewError(loci.CodePayloadTooLarge, "The body of this operation is larger than 64 KiB: send less.")
	}
	return err
}

// readQuery reads the fields of a query in their order; url.ParseQuery would
// lose it, and with it which fault is told.
func (in *requestReader) readQuery(query string) error {
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		if pair == "" {
			continue
		}
		if strings.IndexByte(pair, ';') >= 0 {
			return loci.NewError(loci.CodeInvalidQuery, "the fields of a query stand between &, not ;")
		}
		rawName, rawValue, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(rawName)
		value, err2 := url.QueryUnescape(rawValue)
		if err != nil || err2 != nil {
			return loci.NewError(loci.CodeInvalidQuery, "the query holds a %% that is not followed by two hexadecimal "+
				"digits: write %%25 for it")
		}
		in.params = append(in.params, op.Param{Name: name, Value: value, Location: op.InQuery})
	}
	return nil
}
