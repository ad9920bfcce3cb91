package service_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
)

// token is a credential that the pattern of a name, a rule and an id of a client allows.
const token = "glpat-" + "x7k2m9q4w8z3v6b1n5t0"

// otherTexts are the fields that may hold a credential in the decoder, and why.
var otherTexts = map[string]string{
	"content":    "the policy of the workspace decides",
	"title":      "the policy of the workspace decides",
	"subject":    "the policy of the workspace decides",
	"tags":       "the policy of the workspace decides",
	"source":     "the policy of the workspace decides",
	"evidence":   "the policy of the workspace decides",
	"task":       "redacted",
	"summary":    "redacted",
	"sourceName": "redacted",
	"query":      "not stored",
	"cursor":     "not stored",
	"token":      "compared with a hash",
	"invitation": "compared with a hash",
	"ref":        "compared with a code",
	"mimeType":   "a media type, which the first bytes replace",
	"sha256":     "hexadecimal digits alone",
	"since":      "not stored",
	"until":      "not stored",
	"validUntil": "times alone",
}

func TestNamesHoldNoCredential(t *testing.T) {
	t.Parallel()
	refused, other := map[string]bool{}, map[string]bool{}
	for _, o := range service.Ops.Ops {
		for _, f := range o.Fields() {
			eachText(o.InputSchema().Properties[f.Name], f.Name, token, func(path string, value any) {
				name, _, _ := strings.Cut(path, ".")
				if f.Resource != "" {
					return
				}
				text, _ := json.Marshal(map[string]any{f.Name: value})
				_, err := o.Canonical(op.Args{JSON: text})
				switch {
				case loci.Is(err, loci.CodeSecretDetected):
					refused[path] = true
					if strings.Contains(err.Error(), token) || !strings.Contains(err.Error(), path+" ") {
						t.Errorf("%s: %v", o.Name, err)
					}
				case otherTexts[name] != "":
					other[name] = true
				default:
					t.Errorf("%s takes a credential in %s: give its type the rule NoSecret, or say here why not (%v)",
						o.Name, path, err)
				}
			})
		}
	}
	for _, path := range []string{"name", "description", "keywords", "fileName", "externalId", "rules.rule", "key",
		"excludePaths"} {
		if !refused[path] {
			t.Errorf("no operation refuses a credential in %s", path)
		}
	}
	if !maps.Equal(other, boolsOf(otherTexts)) {
		t.Errorf("otherTexts has fields without use: %v are used", slices.Sorted(maps.Keys(other)))
	}
}

func boolsOf(m map[string]string) map[string]bool {
	out := map[string]bool{}
	for name := range m {
		out[name] = true
	}
	return out
}

// eachText calls f for each place of free text in a schema, with a value of the schema that has a text there alone.
func eachText(s *jsonschema.Schema, path, text string, f func(path string, value any)) {
	switch {
	case s.Type == "string" && s.Enum == nil && s.Format == "":
		f(path, text)
	case s.Type == "array":
		eachText(s.Items, path, text, func(path string, value any) { f(path, []any{value}) })
	case s.Type == "object":
		for name, member := range s.Properties {
			eachText(member, path+"."+name, text, func(path string, value any) { f(path, map[string]any{name: value}) })
		}
	}
}
