package rest_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http/httptest"
	"os"
	"slices"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/oauth"
	"github.com/loci-memory/loci/internal/rest"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/testenv"
	"github.com/loci-memory/loci/internal/web"
)

var update = flag.Bool("update", false, "write the golden files")

func document(t *testing.T, o rest.Options) []byte {
	t.Helper()
	w := httptest.NewRecorder()
	rest.New(o).ServeHTTP(w, httptest.NewRequest("GET", "/openapi.json", nil))
	if w.Code != 200 || w.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	return w.Body.Bytes()
}

// fullOptions returns the options of a server without settings.
func fullOptions() rest.Options {
	o := options(&fakeService{})
	o.Table, o.PublicURL = service.Ops, "http://127.0.0.1:7007"
	authorization := oauth.New(oauth.Options{PublicURL: o.PublicURL})
	o.ExtraRoutes = append(web.Routes(web.Options{Table: service.Ops, Authorizer: authorization}),
		authorization.Routes()...)
	return o
}

func TestOpenAPIMatchesGolden(t *testing.T) {
	t.Parallel()
	for golden, o := range map[string]rest.Options{"testdata/openapi.json": options(&fakeService{}),
		"../../docs/openapi.json": fullOptions()} {
		var got bytes.Buffer
		testenv.NoError(t, json.Indent(&got, document(t, o), "", "  "))
		got.WriteByte('\n')
		if *update {
			testenv.NoError(t, os.WriteFile(golden, got.Bytes(), 0o644))
		}
		if want := testenv.Must(os.ReadFile(golden))(t); !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s is another one: look at it, tell it in CHANGELOG.md, then go test ./internal/rest -update",
				golden)
		}
	}
}

func TestOpenAPIIsDeterministic(t *testing.T) {
	t.Parallel()
	if one := document(t, fullOptions()); !bytes.Equal(one, document(t, fullOptions())) {
		t.Error("two servers describe themselves differently")
	}
}

// A described is the part of the document that the tests look at.
type described struct {
	Paths map[string]map[string]struct {
		Security   []map[string][]string
		Parameters []struct{ In, Name string }
		Responses  map[string]struct {
			Content map[string]struct{ Schema map[string]any }
		}
		RequestBody struct {
			Required bool
			Content  map[string]struct{ Schema map[string]any }
		}
	}
	Components struct {
		Schemas map[string]struct {
			Required   []string
			Properties map[string]struct{ Enum []string }
		}
	}
}

func TestOpenAPIListsSuccessStatuses(t *testing.T) {
	t.Parallel()
	var d described
	testenv.NoError(t, json.Unmarshal(document(t, options(&fakeService{})), &d))
	for _, c := range []struct {
		path, method string
		statuses     []string
	}{
		{"/v1/things/{thingId}", "get", []string{"200", "304"}},
		{"/v1/things/{thingId}", "post", []string{"200", "201"}},
		{"/v1/things/{thingId}", "patch", []string{"200", "412"}},
		{"/v1/keys", "post", []string{"201"}},
		{"/v1/settings", "put", []string{"200"}},
		{"/v1/settings/reset", "post", []string{"202"}},
		{"/health", "get", []string{"200"}},
	} {
		for _, s := range []string{"200", "201", "202", "304", "412"} {
			if _, got := d.Paths[c.path][c.method].Responses[s]; got != slices.Contains(c.statuses, s) {
				t.Errorf("%s %s: %s is %v", c.method, c.path, s, got)
			}
		}
	}
	for _, public := range []string{"/health", "/openapi.json"} {
		if got := d.Paths[public]["get"].Security; got == nil || len(got) > 0 {
			t.Errorf("%s needs %v", public, got)
		}
	}
	if got := d.Paths["/v1/events"]["get"]; len(got.Security) != 1 ||
		got.Responses["200"].Content["text/event-stream"].Schema == nil {
		t.Errorf("a stream for agents: %+v", got)
	}
	if got := d.Paths["/v1/things/{thingId}"]["post"].RequestBody; !got.Required ||
		got.Content["application/json"].Schema["additionalProperties"] != false {
		t.Errorf("a body: %+v", got)
	}
	put := d.Paths["/v1/settings"]["put"]
	fields, _ := put.RequestBody.Content["application/json"].Schema["properties"].(map[string]any)
	if p := put.Parameters[0]; p.In != "query" || p.Name != "workspace_id" || len(fields) != 3 ||
		fields["quiet"] == nil {
		t.Errorf("a query field of a PUT: %+v", put)
	}
	if got := d.Components.Schemas["Error"]; len(got.Properties["code"].Enum) != len(loci.Catalogue) ||
		!slices.Equal(got.Required, []string{"error", "code", "message"}) {
		t.Errorf("the error: %+v", got)
	}
}

// TestOpenAPIParametersHaveNoConst reads the parameters of the document: generators of clients leave out an operation
// with a const in one.
func TestOpenAPIParametersHaveNoConst(t *testing.T) {
	t.Parallel()
	type schema struct{ Const any }
	var d struct {
		Components struct {
			Parameters map[string]struct{ Schema schema }
		}
		Paths map[string]map[string]struct {
			Parameters []struct {
				Name   string
				Schema schema
			}
		}
	}
	testenv.NoError(t, json.Unmarshal(document(t, fullOptions()), &d))
	for name, p := range d.Components.Parameters {
		if p.Schema.Const != nil {
			t.Errorf("the parameter %s has a const", name)
		}
	}
	for path, methods := range d.Paths {
		for method, o := range methods {
			for _, p := range o.Parameters {
				if p.Schema.Const != nil {
					t.Errorf("%s %s: %s has a const", method, path, p.Name)
				}
			}
		}
	}
}
