package checksum_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store/checksum"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// Fields of a memory that its checksum omits. They follow from other rows or from the time of the read. Links of a
// memory and Expired change while its version stays, so the entity tag has them.
var (
	fieldsOfEntityTag     = []string{"Expired", "SupersededBy", "Supersedes", "AttachmentIDs"}
	fieldsOutsideChecksum = append([]string{"WorkspaceID", "AtlasID"}, fieldsOfEntityTag...)
)

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
		tagged := m.EntityTag() != loci.Memory{}.EntityTag()
		if slices.Contains(fieldsOfEntityTag, f.Name) && !tagged {
			t.Errorf("%s changes without a new version, and the entity tag leaves it out", f.Name)
		}
	}
}
