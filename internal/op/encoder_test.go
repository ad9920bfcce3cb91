package op_test

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// stdlibEncode is what Encode returns, made by encoding/json alone.
func stdlibEncode(t *testing.T, out any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(out); err != nil {
		t.Fatal(err)
	}
	if rest := bytes.TrimSpace(b.Bytes())[1:]; len(rest) > 1 {
		return `{"ok":true,` + string(rest)
	}
	return `{"ok":true}`
}

func expectSameAsStdlib(t *testing.T, out any) {
	t.Helper()
	got, err := op.Encode(out)
	if want := stdlibEncode(t, out); err != nil || string(got) != want {
		t.Errorf("%T: %s, %v; encoding/json writes %s", out, got, err, want)
	}
}

func FuzzEncoderAgreesWithStdlib(f *testing.F) {
	for _, s := range []string{"", "plain", "<a&b>", "\x00\b\t\n\f\r\x1f \"\\/\x7f", "a long text with a \" in it",
		"\u2028, \u2029 and \u2027", "â‚¬ – € “x”", "\xe2", "\xe2\x80", "1234567\xe2\x80", "\xff half", "你好世界, привет",
		"\ufffd \U0001f600"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		expectSameAsStdlib(t, reply{s})
		expectSameAsStdlib(t, reply{"12345" + s + "1234567"})
	})
}

type selfMarshaler struct{ n int }

func (s *selfMarshaler) MarshalJSON() ([]byte, error) { return json.Marshal(s.n) }

type neverZero string

func (n neverZero) IsZero() bool { return n != "" }

type tree struct {
	Name     string `json:"name"`
	Branches []tree `json:"branches"`
	Next     *tree  `json:"next"`
}

type inner struct {
	Name string `json:"name"`
	Deep *int   `json:"deep,omitzero"`
}

type oddOutput struct {
	loci.Memory
	inner
	Shown   `json:"shown"`
	Self    selfMarshaler   `json:"self"`
	Selves  []selfMarshaler `json:"selves"`
	At      *selfMarshaler  `json:"at"`
	Number  json.Number     `json:"number"`
	Raw     json.RawMessage `json:"raw"`
	Bytes   []byte          `json:"bytes"`
	Map     map[string]int  `json:"map"`
	Any     any             `json:"any"`
	Array   [2]int          `json:"array"`
	Small   uint8           `json:"small"`
	Never   neverZero       `json:"never,omitzero"`
	Empty   string          `json:"empty,omitempty"`
	Quoted  int             `json:"quoted,string"`
	Hidden  string          `json:"-"`
	Named   string
	Floats  []float64   `json:"floats"`
	Times   []loci.Time `json:"times"`
	private string
}

// What outputs are not made of is written by encoding/json.
func TestEncoderAgreesWithStdlibOnOddTypes(t *testing.T) {
	t.Parallel()
	one := 1
	s := oddOutput{
		inner: inner{"x", &one}, Self: selfMarshaler{3}, Selves: []selfMarshaler{{4}}, At: &selfMarshaler{5},
		Number: "1e3", Raw: json.RawMessage(`{"a": 1}`), Bytes: []byte("x"),
		Map: map[string]int{"b": 1, "a": 2}, Any: inner{"<", nil}, Never: "seen", Quoted: 7, Hidden: "x", Named: "N",
		private: "p",
		Floats:  []float64{0, math.Copysign(0, -1), .1, 1e-6, 9.99e-7, 1e20, 1e21, -1e300, 5e-324, 1.0 / 3},
		Times:   []loci.Time{0, 1, 1e15},
	}
	for _, out := range []any{
		s, &s, oddOutput{}, s.inner, inner{}, &s.Memory, loci.Empty{}, tree{"a", []tree{{"b", nil, nil}}, &tree{}},
		struct{ *inner }{&s.inner}, struct{ inner }{s.inner}, struct{ Shown }{Shown{loci.TypeFact}},
		struct {
			Shown `json:"shown"`
		}{Shown{loci.TypeFact}},
		struct {
			inner
			Name string `json:"name"`
		}{s.inner, "outer"},
		struct {
			A neverZero `json:"a,omitzero"`
		}{"x"},
		struct {
			A string          `json:"a-é"`
			B []selfMarshaler `json:"b"`
			C *selfMarshaler  `json:"c,omitzero"`
		}{"x", []selfMarshaler{{1}}, &selfMarshaler{2}},
		struct {
			A int `json:"a,omitempty"`
		}{}, struct {
			A int `json:",omitzero"`
		}{1},
		struct {
			Self  selfMarshaler   `json:"self"`
			Map   map[string]any  `json:"map"`
			Array [2]loci.Time    `json:"array"`
			Small uint8           `json:"small"`
			Bytes []byte          `json:"bytes"`
			Raw   json.RawMessage `json:"raw"`
			N     json.Number     `json:"n"`
			F     float32         `json:"f"`
		}{Self: selfMarshaler{1}, Map: map[string]any{"<": 1}, Array: [2]loci.Time{1, 2}, Bytes: []byte("x"),
			Raw: json.RawMessage("1"), F: .1},
	} {
		expectSameAsStdlib(t, out)
	}
}

func TestEncoderRejectsUnsupportedValues(t *testing.T) {
	t.Parallel()
	for _, out := range []any{
		struct {
			F float64 `json:"f"`
		}{math.NaN()},
		struct {
			F []*float64 `json:"f"`
		}{[]*float64{new(math.Inf(1))}},
	} {
		if text, err := op.Encode(out); err == nil {
			t.Errorf("%+v is %s", out, text)
		}
	}
}
