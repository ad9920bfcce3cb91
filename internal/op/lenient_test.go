package op_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
)

// A form has a field of every kind that a tool takes.
type form struct {
	thing
	Until *loci.Time `json:"until,omitzero" date:"end"`
	Sizes []int64    `json:"sizes,omitzero"`
	Atlas loci.ID    `json:"atlasId,omitzero" id:"atlas"`
}

const atlasID = "01a20154-2ca0-728a-887c-000000000006"

var formOp = op.Add(&op.Table{}, "form.make", "POST /forms/{thingId}", "Make a form.", op.Account, op.ToolCore,
	func(*fakeService, context.Context, *identity.Actor, form) (loci.Empty, error) {
		return loci.Empty{}, nil
	})

// readForm returns the input that the operation gets of a tool's arguments.
func readForm(t *testing.T, members string) (string, error) {
	t.Helper()
	args, err := formOp.Lenient([]byte(`{"thingId":"7","name":"n",` + members + `}`))
	if err != nil {
		return "", err
	}
	out, err := formOp.Canonical(op.Args{JSON: args})
	return strings.TrimSuffix(strings.Replace(string(out), `{"thingId":"7","name":"n"`, "", 1), "}"), err
}

func TestLenientReadsWhatModelsMean(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		`"kind":null,"tags":null,"size":null,"open":null,"when":null,"note":null,"within":null`: "",
		`"heading":null,"sure":null,"places":null,"extra":null`:                                 "",
		`"kind":"","tags":"","size":"","open":" ","when":"","note":"","within":"","sure":""`:    "",
		`"within":{"uri":null,"position":""}`:                                                   "",
		`"heading":""`:                                                                          `,"heading":""`,
		`"tags":[]`:                                                                             `,"tags":[]`,
		`"Atlas_ID":"` + atlasID + `"`:                                                          `,"atlasId":"` + atlasID + `"`,
		`"tags":"one"`:                                                                          `,"tags":["one"]`,
		`"tags":"a, b,"`:                                                                        `,"tags":["a","b"]`,
		`"tags":"a\\,b"`:                                                                        `,"tags":["a,b"]`,
		`"tags":" [\"a\", \"b c\"]"`:                                                            `,"tags":["a","b c"]`,
		`"tags":"[]"`:                                                                           `,"tags":[]`,
		`"sizes":"1, 2"`:                                                                        `,"sizes":[1,2]`,
		`"sizes":["3",4]`:                                                                       `,"sizes":[3,4]`,
		`"places":"[{\"uri\":\"a\"}]"`:                                                          `,"places":[{"uri":"a"}]`,
		`"size":"5"`:                                                                            `,"size":5`,
		`"size":" 5.0 "`:                                                                        `,"size":5`,
		`"size":0`:                                                                              `,"size":1`,
		`"size":"-3"`:                                                                           `,"size":1`,
		`"size":1000`:                                                                           `,"size":100`,
		`"size":1e300`:                                                                          `,"size":100`,
		`"weight":"-1.5e2"`:                                                                     `,"weight":-150`,
		`"sure":"0.75"`:                                                                         `,"sure":0.75`,
		`"open":"true"`:                                                                         `,"open":true`,
		`"open":"True"`:                                                                         `,"open":true`,
		`"when":"2026-01-02"`:                                                                   `,"when":"2026-01-02T00:00:00.000Z"`,
		`"until":"2026-01-02"`:                                                                  `,"until":"2026-01-02T23:59:59.999Z"`,
		`"until":"2026-01-02T03:04:05Z"`:                                                        `,"until":"2026-01-02T03:04:05.000Z"`,
		`"within":{"uri":"a","position":""}`:                                                    `,"within":{"uri":"a"}`,
		`"within":{"uri":"a","p\u006fsition":"7"}`:                                              `,"within":{"uri":"a","position":7}`,
		`"note":"5"`:                                                                            `,"note":"5"`,
		`"note":"true"`:                                                                         `,"note":"true"`,
		`"note":"[\"a\"]"`:                                                                      `,"note":"[\"a\"]"`,
		`"note":"null"`:                                                                         `,"note":"null"`,
		`"note":" "`:                                                                            `,"note":" "`,
		`"Size":"5"`:                                                                            `,"size":5`,
		`"S-I_Z\u0045":5,"size":"5","SIZE":""`:                                                  `,"size":5`,
		`"size":null,"Size":5`:                                                                  `,"size":5`,
		`"thing_id":"7","ThingID":"7","thing":"7","id":"7","NAME":"n"`: "",
		`"Within":"{\"URI\":\"a\"}"`:                                   `,"within":{"uri":"a"}`,
		`"extra":"{\"Size\":1}"`:                                       `,"extra":{"Size":1}`,
		`"extra":{"size":"5","none":null,"text":""}`:                   `,"extra":{"none":null,"size":"5","text":""}`,
	} {
		if got, err := readForm(t, given); err != nil || got != want {
			t.Errorf("%s: %s %v, want %s", given, got, err, want)
		}
	}
}

func TestLenientLeavesTheRestToTheDecoder(t *testing.T) {
	t.Parallel()
	for given, hint := range map[string]string{
		`"name":null`:                        "name is given twice",
		`"tags":null,"tags":["a"]`:           "tags is given twice",
		`"size":5,"s\u0069ze":""`:            "size is given twice",
		`"within":{"uri":"a","uri":null}`:    "within.uri is given twice",
		`"within":{"uri":null,"position":1}`: "within.uri is required",
		`"within":{"uri":""}`:                "within.uri must not be empty",
		`"within":{"url":""}`:                `did you mean "uri"?`,
		`"within":"{\"uri\":\"a\""`:          "within must be an object",
		`"within":"{} {}"`:                   "within must be an object",
		`"size":5,"Size":6`:                  "size is given twice, with different values",
		`"size":5,"Size":5,"size":5`:         "size is given twice",
		`"within":{"uri":"a","URI":"b"}`:     "within.uri is given twice, with different values",
		`"id":"8"`:                           "thingId is given twice, with different values",
		`"ids":"7"`:                          "unknown field",
		`"atlas":"` + atlasID + `"`:          "unknown field", // it would move the thing
		`"nmae":null`:                        `did you mean "name"?`,
		`"note":5`:                           "note must be a string",
		`"note":"a\u0000"`:                   "no NUL",
		`"note":"\ud800"`:                    "no lone surrogate",
		"\"note\":\"\xff\"":                  "valid UTF-8",
		`"kind":"rumour"`:                    "kind must be one of fact",
		`"tags":5`:                           "tags must be a list of strings",
		`"tags":{"a":1}`:                     "tags must be a list of strings",
		`"tags":", ,"`:                       "tags must be a list of strings",
		`"tags":"[\"a\""`:                    "tags must be a list of strings",
		`"tags":"[5]"`:                       "tags must be a string",
		`"tags":"[\"\\ud800\"]"`:             "no lone surrogate",
		`"tags":[null]`:                      "tags must not be null",
		`"size":"many"`:                      "size must be an integer",
		`"size":"05"`:                        "size must be an integer",
		`"size":2.5`:                         "size must be an integer",
		`"size":true`:                        "size must be an integer",
		`"sure":"high"`:                      "sure must be a number",
		`"sure":2`:                           "sure must be at most 1",
		`"open":"yes"`:                       "open must be a boolean",
		`"open":1`:                           "open must be a boolean",
		`"when":"2026-02-30"`:                "when must be a time",
		`"when":"tomorrow"`:                  "when must be a time",
		`"size":5,`:                          "malformed",
		`"size":5}{`:                         "after the JSON object",
	} {
		if got, err := readForm(t, given); err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("%s: %s %v, want %s", given, got, err, hint)
		}
	}
}

func TestLenientReportsRequiredFields(t *testing.T) {
	t.Parallel()
	for args, hint := range map[string]string{
		`{"thingId":"7","name":null}`: "name is required",
		`{"thingId":"7","name":""}`:   "name must not be empty",
		`{"thingId":null,"name":"n"}`: "thingId is required",
		`[]`:                          "send a JSON object",
		`"{}"`:                        "thingId is required",
		`"{\"thingId\":\"7\"}"`:       "name is required",
		`"{}{}"`:                      "send a JSON object",
	} {
		lenient, err := formOp.Lenient([]byte(args))
		if err == nil {
			_, err = formOp.Canonical(op.Args{JSON: lenient})
		}
		if err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("%s: %v, want %s", args, err, hint)
		}
	}
}

// FuzzLenient reads any arguments: what the decoder accepts keeps its meaning, but for members that are null or "".
// Reading the result again changes nothing.
func FuzzLenient(f *testing.F) {
	for _, seed := range []string{
		`{"thingId":"7","name":"n","kind":"fact","tags":["a","b"],"size":5.0,"weight":-1e2,"open":true}`,
		`{"thingId":"7","name":"n","when":"2026-01-02T03:04:05Z","note":"[1]","within":{"uri":"a","position":7}}`,
		`{"thingId":"7","name":"n","heading":"","places":[{"uri":"a"}],"extra":{"a":[null,""]},"sizes":"[1]"}`,
		`{"thingId":"7","name":"n","heading":null,"note":"","tags":"a,b","size":"900","until":"2026-01-02"}`,
		`{"thingId":"7","n\u0061me":"\ud83d\ude00","tags":"[\"a\"]","within":{"position":""}}`,
		`"{\"Thing-ID\":\"7\",\"name\":\"n\",\"SIZE\":5,\"size\":6,\"Within\":\"{}\"}"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, args []byte) {
		lenient, err := formOp.Lenient(args)
		want, strictErr := formOp.Canonical(op.Args{JSON: args})
		if err != nil {
			if strictErr == nil {
				t.Fatalf("%s: %v", args, err)
			}
			return
		}
		if strictErr == nil {
			got, err := formOp.Canonical(op.Args{JSON: lenient})
			if err != nil || !bytes.Equal(got, withoutEmptyNote(t, want, args)) {
				t.Fatalf("%s became %s: %s %v, want %s", args, lenient, got, err, want)
			}
		}
		if again, err := formOp.Lenient(lenient); err != nil || !bytes.Equal(again, lenient) {
			t.Fatalf("%s became %s, and then %s %v", args, lenient, again, err)
		}
	})
}

// withoutEmptyNote returns an input without what counts as absent in arguments: a note of no characters, and a heading
// that is null.
func withoutEmptyNote(t *testing.T, input, args []byte) []byte {
	t.Helper()
	var given struct{ Heading, Note *string }
	if json.Unmarshal(args, &given) != nil {
		t.Fatalf("%s is no object", args)
	}
	if given.Note != nil && *given.Note == "" {
		input = bytes.Replace(input, []byte(`,"note":""`), nil, 1)
	}
	if given.Heading == nil {
		input = bytes.Replace(input, []byte(`,"heading":""`), nil, 1)
	}
	return input
}
