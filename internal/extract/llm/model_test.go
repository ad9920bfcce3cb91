package llm

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/openai"
	"github.com/loci-memory/loci/internal/testenv"
)

const testKey = "sk-tuna-and-salmon"

// start runs a service and returns a model of it.
func start(t *testing.T, f func(w http.ResponseWriter, in map[string]any)) *Model {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in map[string]any
		testenv.Equal(t, json.NewDecoder(r.Body).Decode(&in), nil)
		if r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer "+testKey {
			t.Errorf("%s %v", r.URL, r.Header)
		}
		f(w, in)
	}))
	t.Cleanup(s.Close)
	return testenv.Must(New(s.URL, testKey, "tiny"))(t)
}

const empty = `{"choices": [{"message": {"content": "{\"statements\": []}"}}], "usage": {"total_tokens": 7}}`

func TestModelUsesNameOfLimitThatServiceAccepts(t *testing.T) {
	t.Parallel()
	var limits []string
	m := start(t, func(w http.ResponseWriter, in map[string]any) {
		for _, name := range []string{"max_tokens", "max_completion_tokens"} {
			if in[name] != nil {
				limits = append(limits, name)
			}
		}
		if in["max_tokens"] != nil {
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"error": {"code": "unsupported_parameter", "param": "max_tokens"}}`)
			return
		}
		io.WriteString(w, empty)
	})
	for range 2 {
		if _, used, err := m.Extract(t.Context(), extract.Turn{Response: "x"}, 2000); err != nil || used != 7 {
			t.Fatal(used, err)
		}
	}
	testenv.Equal(t, strings.Join(limits, " "), "max_tokens max_completion_tokens max_completion_tokens")
}

func TestModelStaysWithinReservedTokens(t *testing.T) {
	t.Parallel()
	turn := extract.Turn{Prompt: strings.Repeat("Where is the key? ", 40), Response: "Under the boiler."}
	m := start(t, func(w http.ResponseWriter, in map[string]any) {
		testenv.Equal(t, in["max_tokens"].(float64), minAnswerTokens, "an answer may have")
		io.WriteString(w, `{"choices": [{"message": {"content": "[]"}}]}`)
	})
	least, most := m.Cost(turn)
	if least >= most {
		t.Errorf("%d to %d tokens", least, most)
	}
	if _, used, err := m.Extract(t.Context(), turn, least); err != nil || used != least {
		t.Errorf("without a count it used %d tokens, not %d: %v", used, least, err)
	}
}

func TestErrorOfModelShowsNeitherKeyNorText(t *testing.T) {
	t.Parallel()
	turn := extract.Turn{Prompt: "Where is the key?", Response: "Under the boiler."}
	ended := make(chan struct{})
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter)
		used   int64
	}{
		"status":  {func(w http.ResponseWriter) { http.Error(w, testKey+"boiler", http.StatusUnauthorized) }, 0},
		"gateway": {func(w http.ResponseWriter) { http.Error(w, testKey+"boiler", http.StatusGatewayTimeout) }, 2000},
		"busy":    {func(w http.ResponseWriter) { http.Error(w, testKey+"boiler", http.StatusTooManyRequests) }, 0},
		"no JSON": {func(w http.ResponseWriter) { io.WriteString(w, testKey+"boiler") }, 2000},
		"huge":    {func(w http.ResponseWriter) { io.WriteString(w, strings.Repeat("boiler", 100_000)) }, 2000},
		"late":    {func(http.ResponseWriter) { <-ended }, 2000},
	} {
		m := start(t, func(w http.ResponseWriter, _ map[string]any) { c.answer(w) })
		if name == "late" {
			endpoint := testenv.Must(Endpoint(m.client.Address()))(t)
			m.client = openai.New(endpoint, testKey, 50*time.Millisecond, maxResponseBytes)
		}
		_, used, err := m.Extract(t.Context(), turn, 2000)
		if err == nil || used != c.used || strings.Contains(err.Error(), "boiler") ||
			strings.Contains(err.Error(), testKey) {
			t.Errorf("%s: %d tokens, %v", name, used, err)
		}
	}
	close(ended)
}

func TestStatementsAreParsedStrictly(t *testing.T) {
	t.Parallel()
	one := `{"type": "fact", "text": "x"}`
	for text, want := range map[string]int{
		`{"statements": [` + one + `]}`: 1, `[` + one + `]`: 1, "```json\n[" + one + "]\n```": 1, "```\n[]\n```": 0,
		`{"statements": []}`: 0, ` [] `: 0,
		`[` + one: -1, `[` + one + `] Enjoy!`: -1, `Here: [` + one + `]`: -1, `null`: -1, `{}`: -1, `"x"`: -1, ``: -1,
		`{"statements": null}`: -1, `{"statements": "x"}`: -1, `[{"type": 1, "text": "x"}]`: -1, `[["fact"]]`: -1,
	} {
		list, err := decodeStatements(text)
		if want < 0 && !errors.Is(err, extract.ErrMalformed) || want >= 0 && (err != nil || len(list) != want) {
			t.Errorf("%s: %v, %v", text, list, err)
		}
	}
}

func TestLongTextsAreCutInTheirMiddle(t *testing.T) {
	t.Parallel()
	long := "begin " + strings.Repeat("ü", maxAnswer) + " end"
	got := data(extract.Turn{Previous: long, Prompt: long, Response: long})
	if len(got) > maxPrevious+maxPrompt+maxAnswer+200 || strings.Count(got, "begin") != 3 ||
		strings.Count(got, " end") != 3 || !utf8.ValidString(got) {
		t.Errorf("%d bytes", len(got))
	}
}
