package rest_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

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

// TestOpenAPIDescribesIDs checks each field and parameter with an id: they are UUIDs, but for those of agents and of
// OAuth clients.
func TestOpenAPIDescribesIDs(t *testing.T) {
	t.Parallel()
	var d any
	testenv.NoError(t, json.Unmarshal(document(t, fullOptions()), &d))
	seen := map[string]int{}
	check := func(name, where string, schema map[string]any) {
		if items, isList := schema["items"].(map[string]any); isList {
			schema = items
		}
		free := strings.Contains(strings.ToLower(where), "agent") && name == "id" || strings.Contains(name, "gent") ||
			strings.HasPrefix(where, "GrantClient")
		isID := name == "id" || !strings.HasPrefix(name, "X-") && strings.HasSuffix(name, "Id") ||
			strings.HasSuffix(name, "Ids") || strings.HasSuffix(name, "_id")
		if !isID || strings.HasPrefix(where, "oauth.") || strings.HasPrefix(where, "page.") ||
			slices.Contains([]string{"requestId", "externalId", "sourceEventId", "eventId", "inputEventIds"}, name) ||
			schema["type"] != "string" {
			return // an id that its sender chose
		}
		format, _ := schema["format"].(string)
		if seen[format]++; (format == "uuid") == free {
			t.Errorf("%s of %s has the format %q", name, where, format)
		}
	}
	var walk func(where string, v any)
	walk = func(where string, v any) {
		switch v := v.(type) {
		case []any:
			for _, x := range v {
				walk(where, x)
			}
		case map[string]any:
			if id, ok := v["operationId"].(string); ok {
				where = id
			}
			if schema, ok := v["schema"].(map[string]any); ok && v["in"] != nil {
				check(v["name"].(string), where, schema)
			}
			properties, _ := v["properties"].(map[string]any)
			for name, schema := range properties {
				if schema, ok := schema.(map[string]any); ok {
					check(name, where, schema)
				}
			}
			for name, x := range v {
				switch {
				case where == "schemas":
					walk(name, x)
				case name == "schemas":
					walk(name, x)
				default:
					walk(where, x)
				}
			}
		}
	}
	walk("", d)
	if seen["uuid"] < 100 || seen[""] < 8 {
		t.Errorf("the formats of ids are %v", seen)
	}
}

// TestOpenAPIServesReadersAndGenerators reads the tags, which have descriptions, and the parameters: generators of
// clients leave out an operation with a const in one.
func TestOpenAPIServesReadersAndGenerators(t *testing.T) {
	t.Parallel()
	type schema struct{ Const any }
	var d struct {
		Tags       []struct{ Name, Description string }
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
	for _, tag := range d.Tags {
		if tag.Description == "" {
			t.Errorf("the tag %s has no description", tag.Name)
		}
	}
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
