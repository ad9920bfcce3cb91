package embed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/openai"
	"github.com/loci-memory/loci/internal/testenv"
)

const (
	testKey  = "sk-tuna-and-salmon"
	testText = "The cat hides the key under the boiler."
)

// A request is a request that the service received.
type request struct {
	Model          string
	Input          []string
	EncodingFormat string `json:"encoding_format"`
}

// startService runs a service with the handler f, and returns an embedder for it.
func startService(t *testing.T, f func(w http.ResponseWriter, r *http.Request, in request)) *Remote {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in request
		raw, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(raw, &in)
		}
		if err != nil {
			t.Error(err)
		}
		f(w, r, in)
	}))
	t.Cleanup(s.Close)
	r := testenv.Must(NewRemote(s.URL, testKey, "tiny"))(t)
	r.retryDelay = time.Millisecond
	return r
}

// response runs a service that sends the next of some bodies for each request, and repeats the last one. It counts the
// requests.
func response(t *testing.T, status int, bodies ...string) (r *Remote, asked *atomic.Int64) {
	t.Helper()
	asked = &atomic.Int64{}
	return startService(t, func(w http.ResponseWriter, _ *http.Request, _ request) {
		w.WriteHeader(status)
		io.WriteString(w, bodies[min(int(asked.Add(1)), len(bodies))-1])
	}), asked
}

// failure embeds and returns the error, which must contain neither the key nor a text.
func failure(t *testing.T, r *Remote, texts ...string) string {
	t.Helper()
	vectors, err := r.Embed(t.Context(), texts)
	if err == nil || vectors != nil {
		t.Fatalf("no error, and %v", vectors)
	}
	for _, word := range []string{testKey, "tuna", "boiler", "Bearer"} {
		if strings.Contains(err.Error(), word) {
			t.Errorf("the error shows %q: %v", word, err)
		}
	}
	return err.Error()
}

func TestRemoteSendsOpenAIRequest(t *testing.T) {
	t.Parallel()
	r := startService(t, func(w http.ResponseWriter, r *http.Request, in request) {
		if r.Method != "POST" || r.URL.Path != "/v1/embeddings" || r.Header.Get("Authorization") != "Bearer "+testKey ||
			r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
		}
		if in.Model != "tiny" || in.EncodingFormat != "float" || len(in.Input) != 2 || in.Input[0] != testText {
			t.Errorf("asked for %+v", in)
		}
		io.WriteString(w,
			`{"object": "list", "data": [{"object": "embedding", "index": 1, "embedding": [0, -2]}, {"index": 0, `+
				`"embedding": [3e0, 4]}], "model": "tiny-2", "usage": {}}`)
	})
	testenv.Equal(t, fmt.Sprint(testenv.Must(r.Embed(t.Context(), []string{testText, "two"}))(t)), "[[0.6 0.8] [0 -1]]")
}

func TestRemoteUsesOrderWithoutIndex(t *testing.T) {
	t.Parallel()
	r, _ := response(t, 200, `{"data": [{"embedding": [1, 0]}, {"embedding": [0, 1]}]}`)
	testenv.Equal(t, fmt.Sprint(testenv.Must(r.Embed(t.Context(), []string{"a", "b"}))(t)), "[[1 0] [0 1]]")
}

func TestRemoteDoesNotRetryMalformedResponse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, says string }{
		"no JSON":          {testText + testKey, "something else"},
		"a text":           {`{"data": "` + testText + `"}`, "something else"},
		"NaN":              {`{"data": [{"index": 0, "embedding": [NaN, 1]}]}`, "something else"},
		"null for NaN":     {`{"data": [{"index": 0, "embedding": [null, 1]}]}`, "something else"},
		"beyond numbers":   {`{"data": [{"index": 0, "embedding": [1e39, 1]}]}`, "something else"},
		"base64":           {`{"data": [{"index": 0, "embedding": "AACAPw=="}]}`, "something else"},
		"nothing":          {`{}`, "vectors (0) than of texts (1)"},
		"too many":         {`{"data": [{"embedding": [1]}, {"embedding": [1]}]}`, "vectors (2) than of texts (1)"},
		"no vector":        {`{"data": [{"index": 0}]}`, "an empty vector"},
		"an empty vector":  {`{"data": [{"index": 0, "embedding": []}]}`, "an empty vector"},
		"norm 0":           {`{"data": [{"index": 0, "embedding": [0, -0.0]}]}`, "norm 0"},
		"a foreign index":  {`{"data": [{"index": 1, "embedding": [1]}]}`, "index 1"},
		"a negative index": {`{"data": [{"index": -1, "embedding": [1]}]}`, "index -1"},
		"too long":         {strings.Repeat(" ", maxResponseBytes+1), "more than 8 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, asked := response(t, 200, c.body)
			if got := failure(t, r, testText); !strings.Contains(got, c.says) || asked.Load() != 1 {
				t.Errorf("says %q after %d requests", got, asked.Load())
			}
		})
	}
	twice, _ := response(t, 200, `{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}`)
	testenv.Contains(t, failure(t, twice, "a", "b"), "index 0 twice")
}

func TestRemoteRejectsChangedDimensions(t *testing.T) {
	t.Parallel()
	mixed := `{"data": [{"embedding": [1, 1, 1]}, {"embedding": [1, 1]}]}`
	r, _ := response(t, 200, mixed, `{"data": [{"embedding": [1, 1]}]}`, `{"data": [{"embedding": [1, 1, 1]}]}`,
		`{"data": [{"embedding": [1, 1]}]}`)
	testenv.Contains(t, failure(t, r, "a", "b"), "vectors of 3 and of 2 numbers")
	testenv.Equal(t, testenv.ErrorOf(r.Embed(t.Context(), []string{"a"})), nil, "what was refused decides")
	testenv.Contains(t, failure(t, r, "a"), "vectors of 3 numbers, and those before had 2")
	testenv.Equal(t, testenv.ErrorOf(r.Embed(t.Context(), []string{"a"})), nil)
}

func TestRemoteSplitsBatches(t *testing.T) {
	t.Parallel()
	var sizes []int
	r := startService(t, func(w http.ResponseWriter, _ *http.Request, in request) {
		sizes = append(sizes, len(in.Input))
		var list []string
		for _, text := range in.Input {
			var n int
			fmt.Sscan(text, &n)
			list = append(list, fmt.Sprintf(`{"embedding": [1, %d]}`, n))
		}
		fmt.Fprintf(w, `{"data": [%s]}`, strings.Join(list, ","))
	})
	texts := make([]string, 80)
	for i := range texts {
		texts[i] = fmt.Sprint(i)
		if i >= 64 {
			texts[i] += strings.Repeat(" x", 8000/2)
		}
	}
	got := testenv.Must(r.Embed(t.Context(), texts))(t)
	for i, v := range got {
		if n := v[1] / v[0]; n < float32(i)-.01 || n > float32(i)+.01 {
			t.Errorf("the vector of %d is that of %v", i, n)
		}
	}
	testenv.Equal(t, fmt.Sprint(sizes), "[32 32 12 4]", "requests of ", sizes)
}

func TestRemoteTruncatesTextAtRune(t *testing.T) {
	t.Parallel()
	text := "x" + strings.Repeat("ü", maxTextBytes)
	list, rest := nextBatch([]string{text, "next"})
	if len(list) != 2 || rest != nil || len(list[0]) != maxTextBytes-1 || !strings.HasPrefix(text, list[0]) ||
		strings.ToValidUTF8(list[0], "?") != list[0] {
		t.Errorf("%d texts, the first of %d bytes", len(list), len(list[0]))
	}
}

func TestRemoteRetriesTransientErrors(t *testing.T) {
	t.Parallel()
	for status, times := range map[int]int64{429: 3, 500: 3, 502: 3, 503: 3, 529: 3, 400: 1, 401: 1, 404: 1, 413: 1,
		204: 1} {
		r, asked := response(t, status, `{"error": {"message": "`+testText+testKey+`", "code": "`+testText+`"}}`)
		if status == 204 {
			r, asked = response(t, status, "")
		}
		if got := failure(t, r, testText); !strings.Contains(got, fmt.Sprint("status ", status)) ||
			asked.Load() != times {
			t.Errorf("%d: %q after %d requests", status, got, asked.Load())
		}
	}
	r := startService(t, func() func(http.ResponseWriter, *http.Request, request) {
		tries := 0
		return func(w http.ResponseWriter, _ *http.Request, _ request) {
			switch tries++; tries {
			case 1:
				panic(http.ErrAbortHandler) // the connection breaks
			case 2:
				w.WriteHeader(503)
			default:
				io.WriteString(w, `{"data": [{"embedding": [2]}]}`)
			}
		}
	}())
	testenv.Equal(t, testenv.Must(r.Embed(t.Context(), []string{"a"}))(t)[0][0], 1, "the third try")
}

func TestRemoteErrorHasStatusCode(t *testing.T) {
	t.Parallel()
	r, _ := response(t, 401, `{"error": {"message": "Incorrect API key provided: `+testKey+
		`", "type": "invalid_request_error", "code": "invalid_api_key"}}`)
	if got := failure(t, r, testText); !strings.HasSuffix(got, "answers with status 401 (invalid_api_key)") {
		t.Error(got)
	}
}

func TestRemoteHonorsRetryAfter(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	after := "1"
	r := startService(t, func(w http.ResponseWriter, _ *http.Request, _ request) {
		if asked.Add(1) == 1 {
			w.Header().Set("Retry-After", after)
			w.WriteHeader(429)
			return
		}
		io.WriteString(w, `{"data": [{"embedding": [2]}]}`)
	})
	began := time.Now()
	if _, err := r.Embed(t.Context(), []string{"a"}); err != nil || time.Since(began) < time.Second {
		t.Errorf("came again after %v: %v", time.Since(began), err)
	}
	asked.Store(0)
	after = "15"
	hurried, cancel := context.WithTimeout(t.Context(), 14*time.Second)
	defer cancel()
	began = time.Now()
	if _, err := r.Embed(hurried, []string{"a"}); err == nil || asked.Load() != 1 ||
		time.Since(began) > 10*time.Second {
		t.Errorf("one who has no time waits for %v: %v", time.Since(began), err)
	}
	asked.Store(0)
	after = "3600"
	if got := failure(t, r, testText); asked.Load() != 1 || !strings.Contains(got, "429") {
		t.Errorf("an hour: %q after %d requests", got, asked.Load())
	}
}

func TestRemoteHonorsDeadline(t *testing.T) {
	t.Parallel()
	end := make(chan struct{})
	r := startService(t, func(http.ResponseWriter, *http.Request, request) { <-end })
	t.Cleanup(func() { close(end) })
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := r.Embed(short, []string{testText}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error("of the caller: ", err)
	}
	endpoint := testenv.Must(Endpoint(r.client.Address()))(t)
	r.client = openai.New(endpoint, "", 50*time.Millisecond, maxResponseBytes)
	testenv.Contains(t, failure(t, r, testText), "did not answer in time", "of the request")
}

func TestRemoteDoesNotFollowRedirects(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("asked with %v", r.Header)
	}))
	t.Cleanup(other.Close)
	for _, status := range []int{301, 302, 307, 308} {
		r := startService(t, func(w http.ResponseWriter, r *http.Request, _ request) {
			http.Redirect(w, r, other.URL, status)
		})
		testenv.Contains(t, failure(t, r, testText), "redirects are not followed")
	}
}

func TestRemoteErrorNamesUnreachableHost(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	address := s.URL
	s.Close()
	r := testenv.Must(NewRemote(address+"/v1", testKey, "tiny"))(t)
	r.retryDelay = time.Millisecond
	if got := failure(t, r, testText); !strings.Contains(got, "cannot be reached: dial tcp 127.0.0.1:") ||
		!strings.Contains(got, "refused") {
		t.Error(got)
	}
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	r = testenv.Must(NewRemote(secure.URL, testKey, "tiny"))(t)
	testenv.Contains(t, failure(t, r, testText), "cannot be trusted")
	r = testenv.Must(NewRemote(strings.Replace(secure.URL, "https", "http", 1), testKey, "tiny"))(t)
	testenv.Contains(t, failure(t, r, testText), "status 400")
}

func TestEndpointAcceptsBaseAndFullURL(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://api.openai.com":                "https://api.openai.com/v1/embeddings",
		"https://API.openai.com/v1/":            "https://api.openai.com/v1/embeddings",
		"http://[::1]:8080/api":                 "http://[::1]:8080/api/embeddings",
		"https://x.example/openai/embeddings":   "https://x.example/openai/embeddings",
		"https://x.example/openai/embeddings//": "https://x.example/openai/embeddings",
		"api.openai.com/v1":                     "", "ftp://x/v1": "", "https://": "", "https://ann:tuna@x/v1": "",
		"https://x/v1?key=tuna": "", "https://x/#tuna": "", "https://tuna:port": "",
	} {
		if u, err := Endpoint(address); want == "" {
			if err == nil || strings.Contains(err.Error(), "tuna") {
				t.Errorf("%s: %v, %v", address, u, err)
			}
		} else if err != nil || u.String() != want {
			t.Errorf("%s is %v, %v", address, u, err)
		}
	}
	for _, key := range []string{"with space", "line\n", "sk-\x00", "clé"} {
		if _, err := NewRemote("https://x", key, "m"); err == nil || strings.Contains(err.Error(), key) {
			t.Errorf("the key %q: %v", key, err)
		}
	}
}

func TestGenerationNamesModelAndHost(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range [][2]string{{"https://a.example/v1", "m"}, {"https://a.example/v1", "n"},
		{"https://b.example/v1", "m"}, {"https://a.example/v2", "m"}} {
		r := testenv.Must(NewRemote(c[0], testKey, c[1]))(t)
		if g := r.Generation(); seen[g] || strings.Contains(g, testKey) {
			t.Errorf("the generation %q", g)
		} else {
			seen[g] = true
		}
	}
	if !seen["openai:m@a.example/v1"] {
		t.Error(seen)
	}
}
