package rest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/strictjson"
)

// A Deprecation announces the removal of an operation, or of one field of its messages.
type Deprecation struct {
	Op     string    // name of the operation
	Field  string    // of its input or output, with dots between names; empty means the whole operation
	Sunset time.Time // day of the removal
}

// minNotice is the least time between the announcement of a removal and the removal.
const minNotice = 90 * 24 * time.Hour

// deprecationKeys are the keys of an entry.
var deprecationKeys = []string{"route", "field", "announced", "sunset"}

// ParseDeprecations reads a JSON array of entries like {"route": "GET /v1/atlases", "announced": "2026-01-01",
// "sunset": "2026-06-30"}, or with "field": "GET /v1/status usage.memories" in place of the route. An error names the
// entry, counted from 1.
func ParseDeprecations(text []byte, t *op.Table) (list []Deprecation, err error) {
	if err := strictjson.Walk(text, nil); err != nil {
		return nil, err
	}
	s := strictjson.NewScanner(text)
	if s.Next() != '[' {
		return nil, errors.New("must be a JSON array of objects")
	}
	err = s.Items(']', func() error {
		entry, err := readEntry(&s)
		var one Deprecation
		if err == nil {
			one, err = newDeprecation(entry, t)
		}
		if err == nil && slices.ContainsFunc(list, func(d Deprecation) bool {
			return d.Op == one.Op && d.Field == one.Field
		}) {
			err = errors.New("an earlier entry names the same")
		}
		if err != nil {
			return fmt.Errorf("entry %d: %w", len(list)+1, err)
		}
		list = append(list, one)
		return nil
	})
	return list, err
}

// readEntry reads the next entry, whose values are texts.
func readEntry(s *strictjson.Scanner) (entry map[string]string, err error) {
	if s.Next() != '{' {
		return nil, errors.New("must be an object")
	}
	entry = map[string]string{}
	err = s.Members(func(name string) (err error) {
		if !slices.Contains(deprecationKeys, name) {
			return fmt.Errorf("unknown key %q%s", strictjson.Shorten(name), suggestion(name, deprecationKeys))
		}
		if s.Next() != '"' {
			return fmt.Errorf("%s must be a text", name)
		}
		entry[name], err = s.String(name)
		return err
	})
	return entry, err
}

// newDeprecation checks an entry by the operations of the table.
func newDeprecation(entry map[string]string, t *op.Table) (d Deprecation, err error) {
	route, whole := entry["route"]
	field, part := entry["field"]
	if whole == part {
		return d, errors.New("needs either route or field")
	}
	if part {
		at := strings.LastIndexByte(field, ' ')
		if at < 0 {
			return d, errors.New(`field must be a route and a name, such as "GET /v1/status usage.memories"`)
		}
		route, field = field[:at], field[at+1:]
	}
	var routes []string
	for _, o := range t.Ops {
		routes = append(routes, o.Method+" "+o.Path)
	}
	i := slices.Index(routes, route)
	if i < 0 {
		return d, fmt.Errorf("there is no route %q%s", strictjson.Shorten(route), suggestion(route, routes))
	}
	o := t.Ops[i]
	if names := fieldNames(o); part && !slices.Contains(names, field) {
		return d, fmt.Errorf("%s has no field %q%s", route, strictjson.Shorten(field), suggestion(field, names))
	}
	announced, err := parseDay(entry, "announced")
	if err != nil {
		return d, err
	}
	sunset, err := parseDay(entry, "sunset")
	if err == nil && sunset.Sub(announced) < minNotice {
		err = fmt.Errorf("sunset must be at least 90 days after announced: not before %s",
			announced.Add(minNotice).Format(time.DateOnly))
	}
	return Deprecation{Op: o.Name, Field: field, Sunset: sunset}, err
}

func parseDay(entry map[string]string, key string) (time.Time, error) {
	day, err := time.Parse(time.DateOnly, entry[key])
	if err != nil {
		err = fmt.Errorf("%s must be a day, such as 2026-06-30", key)
	}
	return day, err
}

func suggestion(name string, known []string) string {
	if near := op.Nearest(name, known); near != "" {
		return fmt.Sprintf(": did you mean %q?", near)
	}
	return ""
}

// fieldNames returns the fields of the input and the output of an operation, nested ones with dots.
func fieldNames(o *op.Op) (names []string) {
	var walk func(s *jsonschema.Schema, prefix string)
	walk = func(s *jsonschema.Schema, prefix string) {
		for s.Items != nil {
			s = s.Items
		}
		for _, name := range sortedKeys(s.Properties) {
			names = append(names, prefix+name)
			walk(s.Properties[name], prefix+name+".")
		}
	}
	walk(o.InputSchema(), "")
	walk(o.OutputSchema(), "")
	return names
}

// deprecations returns those of an operation.
func (d *handler) deprecations(o *op.Op) (list []Deprecation) {
	for _, one := range d.Deprecations {
		if one.Op == o.Name {
			list = append(list, one)
		}
	}
	return list
}

// withSunset adds the headers to all responses of a deprecated route: Sunset (RFC 8594) has the earliest removal, and
// Deprecation the value of the drafts before RFC 9745.
func withSunset(list []Deprecation, next http.HandlerFunc) http.HandlerFunc {
	if len(list) == 0 {
		return next
	}
	first := slices.MinFunc(list, func(a, b Deprecation) int { return a.Sunset.Compare(b.Sunset) })
	sunset := first.Sunset.Format(http.TimeFormat)
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Deprecation", "true")
		w.Header().Set("Sunset", sunset)
		next(w, r)
	}
}

// markDeprecated returns a copy of a schema in which the fields are deprecated. Types on the way to a field lose their
// names: the document then describes them in place, because other operations share the component.
func markDeprecated(s *jsonschema.Schema, list []Deprecation) *jsonschema.Schema {
	c := s.CloneSchemas()
	for _, d := range list {
		if d.Field == "" {
			continue
		}
		var way []*jsonschema.Schema
		at := c
		for name := range strings.SplitSeq(d.Field, ".") {
			for ; at != nil && at.Items != nil; at = at.Items {
				way = append(way, at)
			}
			if at == nil {
				break
			}
			way = append(way, at)
			at = at.Properties[name]
		}
		if at == nil { // a field of the other message
			continue
		}
		at.Deprecated = true
		for _, s := range way {
			s.Title = ""
		}
	}
	return c
}
