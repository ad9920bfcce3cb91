package checksum_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store/checksum"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// fieldsOutsideChecksum are the fields of a memory that its checksum omits. They follow from other rows or from the
// time of the read.
var fieldsOutsideChecksum = []string{"WorkspaceID", "AtlasID", "Expired", "SupersededBy", "Supersedes",
	"AttachmentIDs"}

func TestMemoryChecksumCoversEveryField(t *testing.T) {
	t.Parallel()
	empty := checksum.Memory(loci.Memory{})
	for _, f := range reflect.VisibleFields(reflect.TypeFor[loci.Memory]()) {
		var m loci.Memory
		storetest.Fill(reflect.ValueOf(&m).Elem().FieldByIndex(f.Index))
		covered := checksum.Memory(m) != empty
		if omitted := slices.Contains(fieldsOutsideChecksum, f.Name); covered == omitted {
			t.Errorf("%s is in the checksum: %t. Add it to Memory, with no effect while it is zero, or to "+
				"fieldsOutsideChecksum.", f.Name, covered)
		}
	}
}
