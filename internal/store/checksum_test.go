package store_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store"
)

// fieldsOutsideChecksum are the fields of a memory that its checksum omits. They follow from other rows or from the
// time of the read.
var fieldsOutsideChecksum = []string{"WorkspaceID", "AtlasID", "Expired", "SupersededBy", "Supersedes"}

func TestMemoryChecksumCoversEveryField(t *testing.T) {
	t.Parallel()
	empty := store.MemoryChecksum(loci.Memory{})
	for _, f := range reflect.VisibleFields(reflect.TypeFor[loci.Memory]()) {
		var m loci.Memory
		fill(reflect.ValueOf(&m).Elem().FieldByIndex(f.Index))
		covered := store.MemoryChecksum(m) != empty
		if omitted := slices.Contains(fieldsOutsideChecksum, f.Name); covered == omitted {
			t.Errorf("%s is in the checksum: %t. Add it to MemoryChecksum, with no effect while it is zero, or to "+
				"fieldsOutsideChecksum.", f.Name, covered)
		}
	}
}

// filledText is the text that fill sets.
const filledText = "x"

// fill sets a value that is not zero.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(filledText)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(.5)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	default:
		v.SetInt(2)
	}
}
