package strictjson_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/strictjson"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestWalkAcceptsUnambiguousJSON(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`, ` [ ] `, `"\ud83d\ude00"`, `-1.5e3`, `null`, "true\n", `{"a":{"b":1},"c":{"b":[{"b":1},{"b":1}]}}`,
		`{"a":1,"A":2}`,
		`{"a":{"b":{"x":1,"x":"\ud800\u0000","y":[{"z":1,"z":2}]}}}`, `{"a":{"\u0062":{"x":1,"x":2}}}`,
		strings.Repeat("[", 1000) + strings.Repeat("]", 1000),
	} {
		testenv.Equal(t, strictjson.Walk([]byte(text), nil, "a", "b"), nil, text)
	}
}

func TestWalkRejectsWithPath(t *testing.T) {
	t.Parallel()
	for text, hint := range map[string]string{
		``:                                       "ends too early",
		`{} {}`:                                  "text after",
		`[1,]`:                                   "malformed at byte 3",
		`{"a":1,}`:                               "malformed at byte 7",
		`{a:1}`:                                  "malformed",
		`01`:                                     "text after",
		`tru`:                                    "malformed",
		`{"a":{"b":{"x":01}}}`:                   "malformed",
		`{"a":{"b":{"x":"\x"}}}`:                 "malformed",
		`{"a":{"b":"` + "\n" + `"}}`:             "malformed",
		`{"a":{"b":"`:                            "ends too early",
		`{"a":{"b":"` + "\xff" + `"}}`:           "UTF-8",
		`{"a":1,"a":2}`:                          "a is given twice",
		`{"a":1,"\u0061":2}`:                     "a is given twice",
		`{"a":{"b":{},"b":{}}}`:                  "a.b is given twice",
		`{"a":{"c":[{"d":1,"d":2}]}}`:            "a.c.d is given twice",
		`{"a":{"b":{"x":1,"x":2}},"c":1,"c":2}`:  "c is given twice",
		`{"c":"\ud800"}`:                         "c must hold no NUL and no lone surrogate",
		`{"c":["\udc00\ud800"]}`:                 "c must hold no NUL and no lone surrogate",
		`{"c":"\u0000"}`:                         "c must hold no NUL",
		`{"\ud800":1}`:                           "lone surrogate",
		strings.Repeat("[", 1001):                "nested deeper",
		`{"a":{"b":` + strings.Repeat("[", 1001): "nested deeper",
	} {
		if err := strictjson.Walk([]byte(text), nil, "a", "b"); err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("%.60s: %v, want %s", text, err, hint)
		}
	}
}

func TestWalkVisitsMembersOutsideLists(t *testing.T) {
	t.Parallel()
	got := map[string]string{}
	err := strictjson.Walk([]byte(` {"a": {"\u0062" : [ {"x":1} ], "c.d":"y"}, "e":{"f":{"f":1,"f":2}}} `),
		func(path []string, value []byte) { got[strings.Join(path, "/")] = string(value) }, "e", "f")
	want := map[string]string{"a": `{"\u0062" : [ {"x":1} ], "c.d":"y"}`, "a/b": `[ {"x":1} ]`, "a/c.d": `"y"`,
		"e": `{"f":{"f":1,"f":2}}`, "e/f": `{"f":1,"f":2}`}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %q", err, got)
	}
}

// FuzzWalk compares Walk with encoding/json on the syntax of JSON.
func FuzzWalk(f *testing.F) {
	for _, seed := range []string{`{"a":{"b":[1,{"c":"\ud83d\ude00\n"}]},"d":-0.5e-3}`, `[true,false,null,""]`,
		`{"a":1,"a":2}`, `"\ud800"`, ` 5 `} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		err := strictjson.Walk(text, nil)
		if err == nil && !json.Valid(text) {
			t.Errorf("%q is no JSON", text)
		}
		if err == nil && strictjson.Walk([]byte(`{"left":`+string(text)+`}`), nil, "left") != nil {
			t.Errorf("%q is refused where it is left to another reader", text)
		}
	})
}
