package op_test

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// plainly is what Encode returns, made by encoding/json alone.
func plainly(t *testing.T, out any) string {
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

func expectEqual(t *testing.T, out any) {
	t.Helper()
	got, err := op.Encode(out)
	if want := plainly(t, out); err != nil || string(got) != want {
		t.Errorf("%T: %s, %v; encoding/json writes %s", out, got, err, want)
	}
}

func FuzzTextsEncodeAsWithEncodingJSON(f *testing.F) {
	for _, s := range []string{"", "plain", "<a&b>", "\x00\b\t\n\f\r\x1f \"\\/\x7f", "a long text with a \" in it", "\u2028, \u2029 and \u2027", "â‚¬ – € “x”", "\xe2", "\xe2\x80", "1234567\xe2\x80", "\xff half", "你好世界, привет", "\ufffd \U0001f600"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		expectEqual(t, reply{s})
		expectEqual(t, reply{"12345" + s + "1234567"})
	})
}

type self struct{ n int }

func (s *self) MarshalJSON() ([]byte, error) { return json.Marshal(s.n) }

type never string

func (n never) IsZero() bool { return n != "" }

type tree struct {
	Name     string `json:"name"`
	Branches []tree `json:"branches"`
	Next     *tree  `json:"next"`
}

type inner struct {
	Name string `json:"name"`
	Deep *int   `json:"deep,omitzero"`
}

type strange struct {
	loci.Memory
	inner
	Shown   `json:"shown"`
	Self    self            `json:"self"`
	Selves  []self          `json:"selves"`
	At      *self           `json:"at"`
	Number  json.Number     `json:"number"`
	Raw     json.RawMessage `json:"raw"`
	Bytes   []byte          `json:"bytes"`
	Map     map[string]int  `json:"map"`
	Any     any             `json:"any"`
	Array   [2]int          `json:"array"`
	Small   uint8           `json:"small"`
	Never   never           `json:"never,omitzero"`
	Empty   string          `json:"empty,omitempty"`
	Quoted  int             `json:"quoted,string"`
	Hidden  string          `json:"-"`
	Named   string
	Floats  []float64   `json:"floats"`
	Times   []loci.Time `json:"times"`
	private string
}

// What outputs are not made of is written by encoding/json.
func TestStrangeOutputsEncodeAsWithEncodingJSON(t *testing.T) {
	t.Parallel()
	one := 1
	s := strange{
		inner: inner{"x", &one}, Self: self{3}, Selves: []self{{4}}, At: &self{5}, Number: "1e3", Raw: json.RawMessage(`{"a": 1}`), Bytes: []byte("x"),
		Map: map[string]int{"b": 1, "a": 2}, Any: inner{"<", nil}, Never: "seen", Quoted: 7, Hidden: "x", Named: "N", private: "p",
		Floats: []float64{0, math.Copysign(0, -1), .1, 1e-6, 9.99e-7, 1e20, 1e21, -1e300, 5e-324, 1.0 / 3}, Times: []loci.Time{0, 1, 1e15},
	}
	for _, out := range []any{
		s, &s, strange{}, s.inner, inner{}, &s.Memory, loci.Nothing{}, tree{"a", []tree{{"b", nil, nil}}, &tree{}},
		struct{ *inner }{&s.inner}, struct{ inner }{s.inner}, struct{ Shown }{Shown{loci.Fact}},
		struct {
			Shown `json:"shown"`
		}{Shown{loci.Fact}},
		struct {
			inner
			Name string `json:"name"`
		}{s.inner, "outer"},
		struct {
			A never `json:"a,omitzero"`
		}{"x"},
		struct {
			A string `json:"a-é"`
			B []self `json:"b"`
			C *self  `json:"c,omitzero"`
		}{"x", []self{{1}}, &self{2}},
		struct {
			A int `json:"a,omitempty"`
		}{}, struct {
			A int `json:",omitzero"`
		}{1},
		struct {
			Self  self            `json:"self"`
			Map   map[string]any  `json:"map"`
			Array [2]loci.Time    `json:"array"`
			Small uint8           `json:"small"`
			Bytes []byte          `json:"bytes"`
			Raw   json.RawMessage `json:"raw"`
			N     json.Number     `json:"n"`
			F     float32         `json:"f"`
		}{Self: self{1}, Map: map[string]any{"<": 1}, Array: [2]loci.Time{1, 2}, Bytes: []byte("x"), Raw: json.RawMessage("1"), F: .1},
	} {
		expectEqual(t, out)
	}
}

func TestWhatJSONCannotSayIsAnError(t *testing.T) {
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
