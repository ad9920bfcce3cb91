package web

import (
	"net/url"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/op"
)

// doneParam is the parameter that names what was just done, for the notice of the next page.
const doneParam = "did"

// isPrivate reports whether a page needs a signed-in user before it reads anything.
func (p *Page) isPrivate() bool {
	return p.Path == consolePath || strings.HasPrefix(p.Path, consolePath+"/")
}

// Read runs an operation that a page reads, with pairs of names and values. Empty values are left out.
func Read[Out any](v *Visit, name string, pairs ...string) (out Out, err error) {
	var args op.Args
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			args.Params = append(args.Params, op.Param{Name: pair[0], Value: pair[1]})
		}
	}
	got, err := v.run(name, v.call, args)
	if err == nil {
		out = got.(Out)
	}
	return out, err
}

// Write runs a further operation that a form asks for. It counts as a call of its own.
func Write[Out any](v *Visit, name string, pairs ...string) (Out, error) {
	v.call.Continuation = false
	return Read[Out](v, name, pairs...)
}

// Has reports whether the server has an operation.
func (v *Visit) Has(name string) bool { return v.h.Table.Op(name) != nil }

// PathValue returns a field of the page's path.
func (v *Visit) PathValue(name string) string { return v.r.PathValue(name) }

// Redirect sends the browser to a page, which shows the notice of what was just done.
func (v *Visit) Redirect(path, did string) {
	v.redirect = withQuery(path, url.Values{doneParam: {did}})
}

// Back returns a Done that sends the browser to the page above the form, which shows the notice of what was just done.
func Back(did string) func(*Visit, any) error {
	return func(v *Visit, _ any) error {
		v.Redirect(parent(v.r.URL.EscapedPath()), did)
		return nil
	}
}

// parent returns the path of the page above one.
func parent(path string) string { return path[:max(1, strings.LastIndexByte(path, '/'))] }

// Link returns the address of the page, or of the one above a form, with the fields of its link. Pairs of names and
// values replace some of them.
func (v *Visit) Link(pairs ...string) string {
	path := v.r.URL.EscapedPath()
	if v.page.FormOnly {
		path = parent(path)
	}
	return v.LinkTo(path, v.page.Params, pairs...)
}

// LinkTo returns an address with fields of the visit. Pairs of names and values replace some of them.
func (v *Visit) LinkTo(path string, fields []string, pairs ...string) string {
	query := url.Values{}
	for _, name := range fields {
		if value := v.Values[name]; value != "" {
			query.Set(name, value)
		}
	}
	for pair := range slices.Chunk(pairs, 2) {
		if query.Set(pair[0], pair[1]); pair[1] == "" {
			query.Del(pair[0])
		}
	}
	return withQuery(path, query)
}

// TagText returns tags as a form has them: op.SplitList separates them.
func TagText(tags []string) string {
	list := make([]string, len(tags))
	for i, tag := range tags {
		list[i] = strings.ReplaceAll(tag, ",", `\,`)
	}
	return strings.Join(list, ", ")
}

// ETag returns the entity tag of the record that was read last.
func (v *Visit) ETag() string { return v.call.ETag }

// Leave sends the browser to an address that an operation gave.
func (v *Visit) Leave(address string) { v.redirect = address }

// Leads reports whether the server has a place.
func (h *header) Leads(path string) bool {
	return slices.ContainsFunc(slices.Concat(h.Places, h.Menu), func(p place) bool { return p.Path == path })
}
