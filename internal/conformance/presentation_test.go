package conformance

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/service"
)

// lookedUp are the columns that a command fills itself, from ids.
var lookedUp = []string{"atlas", "workspace", "title"}

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
			if lists++; len(columns) < 2 && f.Name != "Attachments" { // these are lines of a memory
				t.Errorf("%s: %s states no columns", o.Name, f.Name)
			}
			members := lookedUp
			for _, m := range reflect.VisibleFields(f.Type.Elem()) {
				members = append(members, jsonName(m))
			}
			for _, c := range columns {
				if !slices.Contains(members, c.Name) || c.MinWidth != 0 && c.MinWidth < 12 {
					t.Errorf("%s: %s has no column %+v", o.Name, f.Name, c)
				}
			}
		}
	}
	if lists < 10 {
		t.Errorf("%d lists", lists)
	}
}

func TestWorkspaceIDsAreTagged(t *testing.T) {
	t.Parallel()
	for _, o := range service.Ops.Ops {
		in, out := o.Types()
		for _, f := range slices.Concat(reflect.VisibleFields(in), reflect.VisibleFields(out)) {
			isWorkspace := strings.EqualFold(strings.ReplaceAll(jsonName(f), "_", ""), "workspaceId")
			if tag := f.Tag.Get("id"); isWorkspace != (tag == "workspace") {
				t.Errorf("%s: %s has the tag id:%q", o.Name, f.Name, tag)
			}
		}
	}
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
