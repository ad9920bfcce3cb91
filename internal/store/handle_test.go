package store_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/attachmentdb"
	"github.com/loci-memory/loci/internal/store/memorydb"
	"github.com/loci-memory/loci/internal/store/messagedb"
	"github.com/loci-memory/loci/internal/store/sessiondb"
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
