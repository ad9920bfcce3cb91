package web

import (
	"cmp"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/op"
)

// maxForm is the most bytes that a form has, unless its page says otherwise.
const maxForm = 64 << 10

// Fields of every form beside those of its operation.
const (
	nextField           = "next"           // the path of the page that follows
	idempotencyKeyField = "idempotencyKey" // it replaces the header
	ifMatchField        = "ifMatch"        // it replaces the header
)

var ownFields = []string{nextField, idempotencyKeyField, ifMatchField}

// readForm returns the fields of the form that a page sent.
func readForm(w http.ResponseWriter, r *http.Request, most int64) (url.Values, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" || r.Header.Get("Content-Encoding") != "" {
		return nil, loci.Errorf(loci.CodeUnsupportedMediaType, "This address accepts only the form of its page.")
	}
	body, err := httpapi.ReadBody(w, r, cmp.Or(most, maxForm))
	if loci.Is(err, loci.CodePayloadTooLarge) {
		return nil, loci.Errorf(loci.CodePayloadTooLarge, "The form is larger than %d KiB: shorten its fields.",
			cmp.Or(most, maxForm)>>10)
	}
	if err != nil {
		return nil, loci.Errorf(loci.CodeInvalidQuery, "The form could not be read: send it again.")
	}
	return parseForm(string(body))
}

// parseForm decodes the body of a form.
func parseForm(body string) (url.Values, error) {
	fields, err := url.ParseQuery(body)
	if err != nil {
		return nil, loci.Errorf(loci.CodeInvalidQuery, "The form could not be read: send it again.")
	}
	for name, values := range fields {
		if !utf8.ValidString(name) || slices.ContainsFunc(values, func(v string) bool { return !utf8.ValidString(v) }) {
			return nil, loci.Errorf(loci.CodeInvalidQuery, "The form has a field that is not valid UTF-8.")
		}
		for i := range values { // browsers send each line of a text area with CRLF
			values[i] = strings.ReplaceAll(values[i], "\r\n", "\n")
		}
	}
	return fields, nil
}

// formArgs returns the fields of the page's operation in a form. A field that was left empty is absent, as an omitted
// flag. A field that is neither the operation's nor the page's is left to the operation, which refuses it.
func (p *Page) formArgs(o *op.Op, form url.Values) (args op.Args) {
	add := func(name string, values []string) {
		for _, value := range values {
			if value != "" {
				args.Params = append(args.Params, op.Param{Name: name, Value: value})
			}
		}
	}
	rest := maps.Clone(form)
	for _, f := range o.Fields() {
		name := f.Name
		for own, field := range p.Fields {
			if field == name {
				name = own
			}
		}
		add(f.Name, rest[name])
		delete(rest, name)
	}
	for _, name := range slices.Sorted(maps.Keys(rest)) {
		if !slices.Contains(ownFields, name) && !slices.Contains(p.Params, name) {
			add(name, rest[name])
		}
	}
	return args
}

// isSecret reports whether a page never shows the value of a field again.
func isSecret(o *op.Op, name string) bool {
	return slices.ContainsFunc(o.Fields(), func(f op.Field) bool { return f.Name == name && f.Format == "password" })
}
