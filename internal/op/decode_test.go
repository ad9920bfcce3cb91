package op_test

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

func decode(t *testing.T, args op.Args) (*thing, error) {
	t.Helper()
	s := &fakeService{}
	_, err := newHost(s).Call(context.Background(), makeOp.Op, &op.Call{}, args)
	return s.lastInput, err
}

func TestDecoderReadsEveryKind(t *testing.T) {
	t.Parallel()
	got, err := decode(t, op.Args{
		JSON: []byte(` {"thingId": "7", "name": "  A b ", "kind":"fact","tags":[" x ","y"],"size":5.0,"weight":-1.5e2,
		"open":true,"when":"2026-01-02T03:04:05.678+01:00","note":"",
		"within":{"uri":"caf\u00e9 \ud83d\ude00","position":-3},"places":[{"uri":"a"},{"uri":"\ufffd"}]}`)})
	if err != nil {
		t.Fatal(err)
	}
	b, _ := json.Marshal(got)
	want := `{"thingId":"7","name":"A b","kind":"fact","tags":["x","y"],"size":5,"weight":-150,"open":true,` +
		`"when":"2026-01-02T02:04:05.678Z",` +
		`"note":"","within":{"uri":"café 😀","position":-3},"places":[{"uri":"a"},{"uri":"` + "\ufffd" + `"}]}`
	if string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
}

func TestDecoderRejectsWithHint(t *testing.T) {
	t.Parallel()
	for body, hint := range map[string]string{
		``:                                     "thingId is required",
		`{`:                                    "ends too early",
		`[]`:                                   "send a JSON object",
		`null`:                                 "send a JSON object",
		`{} x`:                                 "after the JSON object",
		`{"nmae":"x"}`:                         `"nmae": did you mean "name"?`,
		`{"Name":"x"}`:                         `"Name": did you mean "name"?`,
		`{"thing_id":"x"}`:                     `did you mean "thingId"?`,
		`{"zzzzzzzz":1}`:                       "the fields are thingId, name",
		`{"name":"x","name":"x"}`:              "name is given twice",
		`{"name":null}`:                        "name must not be null",
		`{"name":5}`:                           "name must be a string",
		`{"name":"  "}`:                        "name must not be empty",
		`{"name":"` + strings.Repeat("é", 201): "ends inside a string",
		`{"name":"` + strings.Repeat("é", 201) + `"}`:  "name must have at most 200 characters",
		`{"name":"a` + "\x00" + `"}`:                   "control character",
		`{"name":"a\u0000"}`:                           "no NUL",
		`{"name":"\ud800"}`:                            "no lone surrogate",
		`{"name":"\ud800\u0041"}`:                      "no lone surrogate",
		`{"name":"\x"}`:                                "an escape that is not",
		"{\"name\":\"\xff\"}":                          "valid UTF-8",
		`{"kind":"Fact"}`:                              "kind must be one of fact, decision",
		`{"tags":"x"}`:                                 "tags must be a list of strings",
		`{"tags":["x",null]}`:                          "tags must not be null",
		`{"tags":["x",]}`:                              "malformed",
		`{"size":0}`:                                   "size must be at least 1",
		`{"size":101}`:                                 "size must be at most 100",
		`{"size":1.5}`:                                 "size must be an integer",
		`{"size":"5"}`:                                 "size must be an integer",
		`{"size":1e400}`:                               "out of range",
		`{"weight":01}`:                                "malformed",
		`{"weight":1e400}`:                             "weight is out of range",
		`{"open":1}`:                                   "open must be a boolean",
		`{"open":tru}`:                                 "malformed",
		`{"when":"2026-01-02T03:04:05"}`:               "with an offset",
		`{"within":{}}`:                                "within.uri is required",
		`{"within":{"url":"x"}}`:                       `did you mean "uri"?`,
		`{"within":{"uri":"x","uri":"y"}}`:             "within.uri is given twice",
		`{"places":[{"uri":"x"},{"uri":5}]}`:           "places.uri must be a string",
		`{"extra":[]}`:                                 "extra must be an object",
		`{"extra":"x"}`:                                "extra must be an object",
		`{"extra":5}`:                                  "extra must be an object",
		`{"extra":null}`:                               "extra must not be null",
		`{"extra":{"a":1,"a":2}}`:                      "extra.a is given twice",
		`{"extra":{"a":{"b":1,"b":2}}}`:                "extra.b is given twice",
		`{"extra":{"a":"\u0000"}}`:                     "no NUL",
		`{"extra":{"\udc00":1}}`:                       "no lone surrogate",
		"{\"extra\":{\"a\":\"\xff\"}}":                 "valid UTF-8",
		`{"extra":{"a":1e999}}`:                        "extra holds a number that is out of range",
		`{"extra":{"a":[1,]}}`:                         "malformed",
		`{"extra":{"a":nul}}`:                          "malformed",
		`{"extra":{"a":tru}}`:                          "malformed",
		`{"extra":` + strings.Repeat(`{"a":`, 17):      "at most 16 levels",
		`{"extra":{"a":` + strings.Repeat(`[`, 17):     "at most 16 levels",
		`{"extra":{"a":[` + strings.Repeat(`1,`, 1001): "at most 1000 values",
		`{"extra":{"a":"` + strings.Repeat(`x`, 8192) + `"}}`: "at most 8192 bytes",
		`{"extra":{"a":0.` + strings.Repeat(`1`, 8192) + `}}`: "at most 8192 bytes",
		`{"tags":[` + strings.Repeat(`"x",`, 33):              "at most 32 items",
	} {
		_, err := decode(t, op.Args{JSON: []byte(body)})
		if !loci.Is(err, loci.CodeInvalidQuery) || !strings.Contains(err.Error(), hint) {
			t.Errorf("%.60s: %v, want a hint with %q", body, err, hint)
		}
	}
}

func TestParamsFillFieldsLikeJSON(t *testing.T) {
	t.Parallel()
	texts := []op.Param{{Name: "thingId", Value: "a/b"}, {Name: "name", Value: "n"}, {Name: "tags", Value: "x, y"},
		{Name: "size", Value: "7"},
		{Name: "open", Value: "true"}, {Name: "weight", Value: "1e2"}}
	got, err := decode(t, op.Args{Params: texts})
	if err != nil {
		t.Fatal(err)
	}
	if got.ID != "a/b" || len(got.Tags) != 2 || got.Tags[1] != "y" || got.Size != 7 || !got.Open || got.Weight != 100 {
		t.Errorf("%+v", got)
	}
	for text, hint := range map[op.Param]string{
		{Name: "size", Value: "1.0"}:                        "must be an integer",
		{Name: "size", Value: ""}:                           "must be an integer",
		{Name: "size", Value: "٣"}:                          "must be an integer",
		{Name: "open", Value: "1"}:                          "true or false",
		{Name: "tags", Value: ""}:                           "must not be empty",
		{Name: "name", Value: "a\x00"}:                      "NUL",
		{Name: "nam", Value: "a"}:                           `did you mean "name"`,
		{Name: "within", Value: "x"}:                        "cannot be given as a text",
		{Name: "name", Value: "a", Location: op.InQuery}:    "there are no fields here",
		{Name: "thingId", Value: "a", Location: op.InQuery}: "there are no fields here",
	} {
		if _, err := decode(t, op.Args{Params: []op.Param{text}}); err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("%v: %v, want %q", text, err, hint)
		}
	}
}

func TestParamListsAreSplitAtCommas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ texts, want []string }{
		{[]string{"a"}, []string{"a"}},
		{[]string{"a,b"}, []string{"a", "b"}},
		{[]string{"a", "b"}, []string{"a", "b"}},
		{[]string{"a,b", "c"}, []string{"a", "b", "c"}},
		{[]string{`a\,b`, "c"}, []string{"a,b", "c"}},
		{[]string{`a\,b,c\`, `d\\,e`}, []string{"a,b", `c\`, `d\,e`}},
	} {
		args := op.Args{JSON: []byte(`{"thingId":"1","name":"x"}`)}
		for _, text := range c.texts {
			args.Params = append(args.Params, op.Param{Name: "tags", Value: text})
		}
		got, err := decode(t, args)
		if err != nil || !slices.Equal(got.Tags.Unique(), c.want) {
			t.Errorf("%q: %q %v, want %q", c.texts, got.Tags, err, c.want)
		}
	}
	for hint, texts := range map[string][]string{
		"tags must not be empty":         {"a", ""},
		"tags must have at most 32 item": strings.Split(strings.Repeat("x ", 32)+"x", " "),
	} {
		args := op.Args{JSON: []byte(`{"thingId":"1","name":"x"}`)}
		for _, text := range texts {
			args.Params = append(args.Params, op.Param{Name: "tags", Value: text})
		}
		if _, err := decode(t, args); err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("%q: %v, want %q", texts, err, hint)
		}
	}
}

func TestDecoderRejectsPathAndQueryFieldsInBody(t *testing.T) {
	t.Parallel()
	_, err := decode(t, op.Args{JSON: []byte(`{"thingId":"x","name":"n"}`), FromHTTP: true})
	if err == nil || !strings.Contains(err.Error(), "unknown field \"thingId\"") {
		t.Errorf("a path field in the body: %v", err)
	}
}

func TestDecoderRejectsEmptyPatch(t *testing.T) {
	t.Parallel()
	s := &fakeService{}
	_, err := newHost(s).Call(context.Background(), changeOp.Op, &op.Call{},
		op.Args{Params: []op.Param{{Name: "thingId", Value: "x", Location: op.InPath}, {Name: "name", Value: "n"}}})
	if err != nil {
		t.Errorf("with a field: %v", err)
	}
	if _, err := newHost(s).Call(context.Background(), changeOp.Op, &op.Call{},
		op.Args{JSON: []byte(`{"thingId":"x"}`)}); !loci.Is(err, loci.CodeInvalidQuery) {
		t.Errorf("without a field: %v", err)
	}
}

// FuzzDecoderAgreesWithStdlib holds the decoder to the verdict of the schema library on the schema that it prints.
// Where they may differ, the decoder is the stricter one: what a JSON Schema cannot say.
func FuzzDecoderAgreesWithStdlib(f *testing.F) {
	for _, s := range []string{`{"thingId":"1","name":"x"}`, `{"thingId":"1","name":" ","tags":["a"]}`,
		`{"thingId":"1","name":"x","size":100,"within":{"uri":"u"}}`,
		`{"thingId":"1","name":"x","places":[{"uri":"u","position":9}],"when":"2026-01-02T03:04:05Z"}`,
		`{"thingId":"1","name":"x","weight":1e3,"open":false,"note":"n"}`,
		`{"thingId":"1","name":"x","heading":null,"sure":0.5}`, `{"thingId":"1","name":"x","heading":"h","sure":-0.1}`,
		`{"thingId":"1","name":"x","sure":1.01}`,
		`{"thingId":"1","name":"x","extra":{"a":[1,-2e3,{"b":null}],"c":"d","e":{"f":true}}}`,
		`{"thingId":"1","name":"x","extra":[]}`} {
		f.Add([]byte(s))
	}
	resolved, err := makeOp.InputSchema().Resolve(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &fakeService{}
		_, mine := newHost(s).Call(context.Background(), makeOp.Op, &op.Call{}, op.Args{JSON: data})
		var v map[string]any
		theirs := json.Unmarshal(data, &v)
		if theirs == nil {
			theirs = resolved.Validate(v)
		}
		if mine == nil && theirs != nil && len(data) > 0 {
			t.Errorf("the decoder takes %q, the library says %v", data, theirs)
		}
		if mine != nil && theirs == nil && !isStricterThanStdlib(mine, v) {
			t.Errorf("the decoder refuses %q (%v), the library takes it", data, mine)
		}
	})
}

func TestMetadataKeepsAnyObject(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		`{}`: `{}`,
		` { "b" : [ 1 , 9007199254740993, {} , [] ] , ` +
			`"a" : { "d" : null, "c" : [true,false,"<\u00e9\/"] } } `: `{"a":{"c":[true,false,"<é/"],"d":null},` +
			`"b":[1,9007199254740993,{},[]]}`,
		`{"a":"` + strings.Repeat("é", 4095) + `"}`: `{"a":"` + strings.Repeat("é", 4095) + `"}`,
		strings.Repeat(`{"a":`, 15) + `[]` + strings.Repeat(`}`, 15): strings.Repeat(`{"a":`, 15) + `[]` +
			strings.Repeat(`}`, 15),
	} {
		got, err := makeOp.Canonical(op.Args{JSON: []byte(`{"thingId":"1","name":"x","extra":` + given + `}`)})
		if want = `{"thingId":"1","name":"x","extra":` + want + `}`; err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", given, got, err)
		}
	}
}

// An empty id is none that exists: taken for an absent one it would widen what is asked for to all there is.
func TestDecoderReturnsNotFoundForEmptyID(t *testing.T) {
	t.Parallel()
	if _, err := decode(t, op.Args{JSON: []byte(`{"thingId":"","name":"x"}`)}); !loci.Is(err, loci.CodeNotFound) {
		t.Errorf("%v", err)
	}
}

// isStricterThanStdlib reports whether a refusal is one that the library cannot know of.
func isStricterThanStdlib(err error, v map[string]any) bool {
	if loci.Is(err, loci.CodeNotFound) {
		return true // an empty id is a text like any other
	}
	message := loci.AsError(err).Message
	for _, known := range []string{"twice", "UTF-8", "NUL", "surrogate", "with an offset", "out of range",
		"at most 1000 items", "levels deep", "bytes of names", "at most 1000 values",
		"must not be empty", "at most 200 characters", "at most 64 characters", "holds a credential"} {
		if strings.Contains(message, known) {
			return true
		}
	}
	n, ok := v["weight"].(float64)
	return ok && math.Abs(n) > 1e300
}

func TestAddressIsTakenOutOfWhatPeoplePaste(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]loci.Email{
		"ann@example.com":                              "ann@example.com",
		" ann@example.com\t\n":                         "ann@example.com",
		"<ann@example.com>":                            "ann@example.com",
		"Ann <ann@example.com>":                        "ann@example.com",
		` "Ann Lee" < ann@example.com > `:              "ann@example.com",
		"Ann " + strings.Repeat("Lee ", 200) + "<a@b>": "a@b",
		"Ann <ann@example.com> <b@example.com>":        "Ann <ann@example.com> <b@example.com>",
		"ann@example.com <b@example.com>":              "ann@example.com <b@example.com>",
		"Ann <ann@example.com> x":                      "Ann <ann@example.com> x",
		"Ann ann@example.com>":                         "Ann ann@example.com>",
	} {
		if got, err := op.Parse[loci.Email]("email", text); err != nil || got != want {
			t.Errorf("%q: %q %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", "Ann <>", "  ", strings.Repeat("a", 255)} {
		if got, err := op.Parse[loci.Email]("email", text); !loci.Is(err, loci.CodeInvalidQuery) {
			t.Errorf("%q: %q %v", text, got, err)
		}
	}
}
