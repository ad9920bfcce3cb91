package rest_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/rest"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/testenv"
)

// parseDeprecations parses a list that is valid.
func parseDeprecations(t *testing.T, text string) []rest.Deprecation {
	t.Helper()
	return testenv.Must(rest.ParseDeprecations([]byte(text), service.Ops))(t)
}

func TestDeprecationsAreParsed(t *testing.T) {
	t.Parallel()
	list := parseDeprecations(t, `[
		{"route": "GET /v1/atlases", "announced": "2026-01-01", "sunset": "2026-06-30"},
		{"field": "GET /v1/atlases limit", "announced": "2099-01-01", "sunset": "2099-04-01"},
		{"sunset": "2026-06-30", "announced": "2026-01-01", "field": "GET /v1/status usage.operations.resetsAt"}]`)
	day := time.Date(2026, 6, 30, 0, 0, 0, 0, time.UTC)
	testenv.EqualSlices(t, list, []rest.Deprecation{{"atlas.list", "", day},
		{"atlas.list", "limit", time.Date(2099, 4, 1, 0, 0, 0, 0, time.UTC)},
		{"account.status", "usage.operations.resetsAt", day}})
	if list := parseDeprecations(t, ` [] `); len(list) > 0 {
		t.Errorf("%v", list)
	}
}

func TestInvalidDeprecationIsRejectedByName(t *testing.T) {
	t.Parallel()
	const days = `"announced": "2026-01-01", "sunset": "2026-06-30"`
	const route = `"route": "GET /v1/atlases", `
	for _, c := range []struct{ text, want string }{
		{``, "JSON"},
		{`{}`, "must be a JSON array"},
		{`null`, "must be a JSON array"},
		{`[] []`, "text after the JSON"},
		{`["GET /v1/atlases"]`, "entry 1: must be an object"},
		{`[{` + days + `}]`, "entry 1: needs either route or field"},
		{`[{"field": "GET /v1/status usage", ` + route + days + `}]`, "entry 1: needs either route or field"},
		{`[{"route": "", ` + days + `}]`, `entry 1: there is no route ""`},
		{`[{"route": 7, ` + days + `}]`, "entry 1: route must be a text"},
		{`[{"Route": "x", ` + days + `}]`, `entry 1: unknown key "Route": did you mean "route"?`},
		{`[{` + route + days, "JSON"},
		{`[{"route": "GET /v1/atlas", ` + days + `}]`, `did you mean "GET /v1/atlases"?`},
		{`[{"route": "PUT /v1/atlases", ` + days + `}]`, `no route "PUT /v1/atlases"`},
		{`[{"field": "GET /v1/status", ` + days + `}]`, `there is no route "GET"`},
		{`[{"field": "memories", ` + days + `}]`, "field must be a route and a name"},
		{`[{"field": "GET /v1/status ", ` + days + `}]`, "GET /v1/status has no field"},
		{`[{"field": "GET /v1/status usage.memory", ` + days + `}]`, `did you mean "usage.memories"?`},
		{`[{` + route + `"sunset": "2026-06-30"}]`, "announced must be a day"},
		{`[{` + route + `"announced": "2026-01-01", "sunset": "2026-6-30"}]`, "sunset must be a day"},
		{`[{` + route + `"announced": "2026-02-30", "sunset": "2026-06-30"}]`, "announced must be a day"},
		{`[{` + route + `"announced": "2026-01-01", "sunset": "2026-03-31"}]`, "not before 2026-04-01"},
		{`[{` + route + `"announced": "2026-01-01", "sunset": "2025-06-30"}]`, "90 days"},
		{`[{` + route + route + days + `}]`, "route is given twice"},
		{`[{` + route + days + `}, {` + route + days + `}]`, "entry 2: an earlier entry"},
	} {
		if list, err := rest.ParseDeprecations([]byte(c.text), service.Ops); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v, want %s", c.text, list, err, c.want)
		}
	}
}

func TestDeprecatedRouteCarriesSunsetOnAllResponses(t *testing.T) {
	t.Parallel()
	o := options(&fakeService{left: make(chan struct{})})
	const route = "GET /v1/things/{thingId}"
	list := testenv.Must(rest.ParseDeprecations([]byte(`[
		{"route": "`+route+`", "announced": "2026-01-01", "sunset": "2026-07-31"},
		{"field": "`+route+` content", "announced": "2026-01-01", "sunset": "2026-06-30"}]`), o.Table))(t)
	o.Deprecations = list
	h := rest.New(o)
	for line, want := range map[string]bool{"GET /v1/things/7": true, "HEAD /v1/things/7": true,
		"GET /v1/things/7?x=1": true, "GET /v1/things": false, "PUT /v1/things/7": false, "GET /health": false} {
		method, path, _ := strings.Cut(line, " ")
		for _, key := range []string{"good", ""} {
			r := httptest.NewRequest(method, path, nil)
			if key != "" {
				r.Header.Set("Authorization", "Bearer "+key)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			got := w.Header().Get("Deprecation") == "true" &&
				w.Header().Get("Sunset") == "Tue, 30 Jun 2026 00:00:00 GMT"
			if refused := w.Code == http.StatusUnauthorized; want && refused != (key == "") {
				t.Errorf("%s %q: %d", line, key, w.Code)
			}
			if got != want || !want && (w.Header().Get("Deprecation") != "" || w.Header().Get("Sunset") != "") {
				t.Errorf("%s %q: %d %v", line, key, w.Code, w.Header())
			}
		}
	}
}

// deprecatedPaths returns the JSON paths with deprecated: true.
func deprecatedPaths(t *testing.T, document []byte) (paths []string) {
	t.Helper()
	var root any
	testenv.NoError(t, json.Unmarshal(document, &root))
	var walk func(v any, path string)
	walk = func(v any, path string) {
		switch v := v.(type) {
		case map[string]any:
			if v["deprecated"] == true {
				paths = append(paths, path)
			}
			for name, inner := range v {
				walk(inner, path+" "+name)
			}
		case []any:
			for _, inner := range v {
				name := ""
				if o, ok := inner.(map[string]any); ok {
					name, _ = o["name"].(string)
				}
				walk(inner, path+" "+name)
			}
		}
	}
	walk(root, "")
	slices.Sort(paths)
	return paths
}

func TestDocumentMarksDeprecationsOnTheirRouteAlone(t *testing.T) {
	t.Parallel()
	const days = `, "announced": "2026-01-01", "sunset": "2026-06-30"}`
	o := fullOptions()
	o.Deprecations = parseDeprecations(t, `[{"route": "GET /v1/atlases"`+days+`,
		{"field": "GET /v1/memories limit"`+days+`, {"field": "GET /v1/memories memories.title"`+days+`,
		{"field": "PATCH /v1/memories/{memoryId} tags"`+days+`, {"field": "POST /v1/memories source.uri"`+days+`,
		{"field": "GET /v1/status usage"`+days+`]`)
	body := ` requestBody content application/json schema properties `
	ok := ` responses 200 content application/json schema properties `
	want := []string{
		" paths /v1/atlases get",
		" paths /v1/memories get parameters limit",
		" paths /v1/memories get" + ok + "memories items properties title",
		" paths /v1/memories post" + body + "source properties uri",
		" paths /v1/memories/{memoryId} patch" + body + "tags",
		" paths /v1/status get" + ok + "usage",
	}
	slices.Sort(want)
	if got := deprecatedPaths(t, document(t, o)); !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := deprecatedPaths(t, document(t, fullOptions())); len(got) > 0 {
		t.Errorf("without settings: %v", got)
	}
}
