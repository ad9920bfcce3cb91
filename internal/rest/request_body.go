package rest

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/op"
)

// maxPublicBody bounds the body of a public operation. An incomplete body occupies memory at no cost to its sender.
const maxPublicBody = 64 << 10

// readArgs reads body, path and query of an operation. names are the fields of the path.
func (d *handler) readArgs(w http.ResponseWriter, r *http.Request, o *op.Op, c *op.Call,
	names []string) (args op.Args, err error) {
	args.FromHTTP = true
	if args.JSON, err = d.readBody(w, r, c.UserID, o.Access == op.Public); err != nil {
		return args, err
	}
	for _, name := range names {
		value := r.PathValue(name)
		if !utf8.ValidString(value) || strings.IndexByte(value, 0) >= 0 {
			return args, loci.NewError(loci.CodeNotFound)
		}
		args.Params = append(args.Params, op.Param{Name: name, Value: value, Location: op.InPath})
	}
	query, err := parseQuery(r.URL.RawQuery)
	args.Params = append(args.Params, query...)
	return args, err
}

// readBody reads the body, if there is one. It checks the type first, then the size; the
// decoder checks the content later.
func (d *handler) readBody(w http.ResponseWriter, r *http.Request, user loci.ID, public bool) ([]byte, error) {
	if r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	typeErr := httpapi.CheckJSON(r.Header)
	if typeErr != nil && r.ContentLength > 0 {
		return nil, typeErr
	}
	limit, limiter := int64(httpapi.MaxBody), d.BodyLimiter
	if public {
		limit, limiter = maxPublicBody, nil // which counts by user
	}
	body, err := limiter.ReadBody(w, r, user, limit)
	switch {
	case len(body) > 0 && typeErr != nil:
		return nil, typeErr
	case public && loci.Is(err, loci.CodePayloadTooLarge):
		err = loci.Errorf(loci.CodePayloadTooLarge, "The body of this operation is larger than 64 KiB: send less.")
	}
	return httpapi.TrimBOM(body), err
}

// parseQuery returns the fields of a query in their order. The map of
// url.ParseQuery has none, so that the error for two faults would vary.
func parseQuery(query string) (params []op.Param, err error) {
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		if pair == "" {
			continue
		}
		if strings.IndexByte(pair, ';') >= 0 {
			return nil, loci.Errorf(loci.CodeInvalidQuery, "the fields of a query stand between &, not ;")
		}
		rawName, rawValue, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(rawName)
		value, err2 := url.QueryUnescape(rawValue)
		if err != nil || err2 != nil {
			return nil, loci.Errorf(loci.CodeInvalidQuery,
				"the query holds a %% that is not followed by two hexadecimal digits: write %%25 for it")
		}
		params = append(params, op.Param{Name: name, Value: value, Location: op.InQuery})
	}
	return params, nil
}
