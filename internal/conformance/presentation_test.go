package conformance

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/service"
)

// lookedUp are the columns that a command fills itself, from ids.
var lookedUp = []string{"atlas", "workspace", "title", "author", "inviter", "user", "owner"}

func TestListsStateColumnsOfTheirRecords(t *testing.T) {
	t.Parallel()
	lists := 0
	for _, o := range service.Ops.Ops {
		_, out := o.Types()
		shown := o.Presentation()
		for _, f := range reflect.VisibleFields(out) {
			if f.Type.Kind() != reflect.Slice || f.Type.Elem().Kind() != reflect.Struct || shown.Whole != "" {
				continue
			}
			columns := shown.Members[jsonName(f)].Columns
			least := min(2, f.Type.Elem().NumField())
			if lists++; len(columns) < least {
				t.Errorf("%s: %s states no columns", o.Name, f.Name)
			}
			members := lookedUp
			for _, m := range reflect.VisibleFields(f.Type.Elem()) {
				members = append(members, jsonName(m))
			}
			for _, c := range columns {
				if !slices.Contains(members, c.Name) || c.MinWidth != 0 && c.MinWidth < 8 {
					t.Errorf("%s: %s has no column %+v", o.Name, f.Name, c)
				}
			}
		}
	}
	if lists < 10 {
		t.Errorf("%d lists", lists)
	}
}

// idNames map the fields of ids that the contract names otherwise to the ends of their names.
var idNames = map[string]string{"replyTo": "messageid", "supersede": "memoryid"}

// The tag of an id says what it names: commands resolve it, and the log has the workspace of each call.
func TestIDsAreTagged(t *testing.T) {
	t.Parallel()
	tagged := 0
	for _, o := range service.Ops.Ops {
		in, out := o.Types()
		eachField(in, func(_ reflect.Type, f reflect.StructField) {
			name, tag := strings.ReplaceAll(cmp.Or(idNames[jsonName(f)], jsonName(f)), "_", ""), f.Tag.Get("id")
			isID := slices.Contains([]reflect.Type{reflect.TypeFor[loci.ID](), reflect.TypeFor[*loci.OptionalID](),
				reflect.TypeFor[loci.BulkIDs]()}, f.Type)
			if isID != (tag != "") ||
				isID && !strings.HasSuffix(strings.TrimSuffix(strings.ToLower(name), "s"), tag+"id") {
				t.Errorf("%s: %s of the input has the tag id:%q", o.Name, f.Name, tag)
			}
		})
		eachField(out, func(in reflect.Type, f reflect.StructField) {
			isWorkspace := jsonName(f) == "workspaceId" || in == reflect.TypeFor[loci.Workspace]() && f.Name == "ID"
			if tag := f.Tag.Get("id"); isWorkspace != (tag == "workspace") {
				t.Errorf("%s: %s of %s has the tag id:%q", o.Name, f.Name, in, tag)
			} else if isWorkspace {
				tagged++
			}
		})
	}
	if tagged < 10 {
		t.Errorf("%d workspaces in the outputs", tagged)
	}
}

// eachField calls f for each field of a type and of the types in it.
func eachField(typ reflect.Type, f func(in reflect.Type, field reflect.StructField)) {
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		eachField(typ.Elem(), f)
	case reflect.Struct:
		for _, field := range reflect.VisibleFields(typ) {
			if field.IsExported() && len(field.Index) == 1 {
				f(typ, field)
				eachField(field.Type, f)
			}
		}
	}
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
