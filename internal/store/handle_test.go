package store_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/attachmentdb"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/store/messagedb"
	"github.com/loci-memory/loci/internal/store/sessiondb"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// handles are the types by which services change records.
var handles = []reflect.Type{
	reflect.TypeFor[store.Tx](), reflect.TypeFor[store.SystemTx](), reflect.TypeFor[store.Account](),
	reflect.TypeFor[store.Workspace](), reflect.TypeFor[store.Atlas](), reflect.TypeFor[memorydb.Memory](),
	reflect.TypeFor[sessiondb.Session](), reflect.TypeFor[sessiondb.View](), reflect.TypeFor[attachmentdb.Attachment](),
	reflect.TypeFor[messagedb.Mailroom](),
}

// A service could set an exported field, and so reach records that no opening has checked.
func TestHandlesCannotBeForged(t *testing.T) {
	t.Parallel()
	for _, handle := range handles {
		for _, f := range reflect.VisibleFields(handle) {
			if f.IsExported() && leadsToScope(f.Type) {
				t.Errorf("%s has the exported field %s, which leads to a scope: embed it by an unexported alias",
					handle, f.Name)
			}
		}
	}
}

// The handle of a memory leads to that of its atlas.
func TestMembersCannotChangeTheAtlasOfTheirMemory(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann, cid := storetest.User(t, s, "ann"), storetest.User(t, s, "cid")
		crew := storetest.Team(t, s, ann, map[*identity.Actor]loci.Role{cid: loci.RoleMember})
		m := add(t, s, cid, crew, "the harbour closes at nine")
		for name, change := range map[string]func(*store.Atlas) (loci.Atlas, error){
			"archive": func(a *store.Atlas) (loci.Atlas, error) { return a.SetArchived(true) },
			"update": func(a *store.Atlas) (loci.Atlas, error) {
				return a.Update(func(r *loci.Atlas) { r.Name = "Mine" })
			},
		} {
			_, err := store.Write(ctx, s, cid, func(tx *store.Tx) (out loci.Atlas, err error) {
				h, err := memorydb.Open(tx, m.ID, store.InAnyState)
				if err != nil {
					return out, err
				}
				return change(h.Atlas())
			})
			if !loci.Is(err, loci.CodeForbidden) {
				t.Errorf("%s: %v, want forbidden", name, err)
			}
		}
	})
}

// leadsToScope reports whether a value of a type holds a scope.
func leadsToScope(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if strings.HasSuffix(t.PkgPath(), "/store/internal/scope") && t.Kind() == reflect.Struct {
		return true
	}
	if t.Kind() != reflect.Struct || !strings.Contains(t.PkgPath(), "/internal/store") {
		return false
	}
	for i := range t.NumField() {
		if leadsToScope(t.Field(i).Type) {
			return true
		}
	}
	return false
}
