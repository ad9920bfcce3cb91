package conformance_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// callWithTag calls an operation with an If-Match tag.
func callWithTag(t *testing.T, w *conformance.World, caller conformance.Caller, o *op.Op, tag string,
	in args) (any, error) {
	t.Helper()
	c := w.Call(caller)
	c.IfMatch = tag
	body := testenv.Must(json.Marshal(in))(t)
	return w.Host.Run(t.Context(), o, c, func() (op.Args, error) { return op.Args{JSON: body}, nil })
}

// tagsOf returns the entity tags of the records that an input of an operation names.
func tagsOf(t *testing.T, w *conformance.World, o *op.Op, in args) (list []string) {
	t.Helper()
	resource, _, _ := strings.Cut(o.Name, ".")
	get := service.Ops.Op(resource + ".get")
	for _, name := range fixtureOf(t, o.Name).names {
		out, err := callWithTag(t, w, conformance.CallerOwner, get, "",
			args{fixtureOf(t, get.Name).names[0]: in[name]})
		list = append(list, testenv.Must(out, err)(t).(interface{ ETag() string }).ETag())
	}
	return list
}

// TestIfMatchIsRequiredToBeCurrent ranges over the operations with If-Match.
func TestIfMatchIsRequiredToBeCurrent(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		w := conformance.New(t, d.Open, withMail)
		for _, o := range service.Ops.Ops {
			if !o.Has(op.IfMatch) {
				continue
			}
			f := fixtureOf(t, o.Name)
			in := f.args(testScene{w, t})
			before := tagsOf(t, w, o, in)
			now := before[0]
			for _, tag := range []string{`"x"`, "W/" + now, strings.Trim(now, `"`), `"y", "x"`} {
				_, err := callWithTag(t, w, conformance.CallerOwner, o, tag, in)
				conformance.Expect(t, o.Name+" with "+tag, err, loci.CodeVersionConflict)
			}
			_, err := callWithTag(t, w, conformance.CallerStranger, o, `"x"`, in)
			conformance.Expect(t, o.Name+" by a stranger", err, loci.CodeNotFound)
			testenv.EqualSlices(t, tagsOf(t, w, o, in), before, o.Name, "with a stale tag")
			for _, tag := range []string{"*", "NOW", `"x", NOW , "y"`} {
				in := f.args(testScene{w, t})
				tag = strings.ReplaceAll(tag, "NOW", tagsOf(t, w, o, in)[0])
				_, err := callWithTag(t, w, conformance.CallerOwner, o, tag, in)
				conformance.Expect(t, o.Name+" with "+tag, err, "")
			}
		}
	})
}
