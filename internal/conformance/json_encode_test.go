package conformance_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
)

// Every output, with all of its fields, is the same bytes that encoding/json
// writes.
func TestOutputsAreEncodedAsByTheStandardLibrary(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, o := range service.Ops.Ops {
		_, out := o.Types()
		for range 200 {
			v := reflect.New(out).Elem()
			fillRandom(r, v)
			var want bytes.Buffer
			e := json.NewEncoder(&want)
			e.SetEscapeHTML(false)
			if err := e.Encode(v.Interface()); err != nil {
				t.Fatal(err)
			}
			got, err := op.Encode(v.Interface())
			if err != nil {
				t.Fatal(err)
			}
			// An answer begins with what the output does not say.
			got = append([]byte("{"), bytes.TrimPrefix(bytes.TrimPrefix(got, []byte(`{"ok":true`)), []byte(","))...)
			if !bytes.Equal(got, bytes.TrimSpace(want.Bytes())) {
				t.Fatalf("%s:\n%s\nencoding/json:\n%s", o.Name, got, &want)
			}
		}
	}
}

var randomTexts = []string{"", "<b>&amp;</b>", "a line\nand \"another\"\r\n", "\x00\x1f\x7f\b\f\t\\",
	"long enough to be looked at in words of eight bytes", "\u2028\u2029", "Größe – 你好, мир", "\xff\xfe",
	"cut \xe2\x80"}

// fillRandom fills v: every second field stays empty.
func fillRandom(r *rand.Rand, v reflect.Value) {
	if !v.CanSet() || r.IntN(2) == 0 && v.Kind() != reflect.Struct {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(randomTexts[r.IntN(len(randomTexts))] + randomTexts[r.IntN(len(randomTexts))])
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(r.Int64N(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()) - int64(loci.TimeOf(time.Now())))
	case reflect.Float64:
		v.SetFloat([]float64{1, .25, 1e-9, -3e22, r.NormFloat64()}[r.IntN(5)])
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), r.IntN(4), 4))
		for i := range v.Len() {
			fillRandom(r, v.Index(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillRandom(r, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			fillRandom(r, v.Field(i))
		}
	}
}
