package integrity_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/store/integrity"
	"github.com/loci-memory/loci/internal/store/storetest"
)

func TestCheckReportsAnUnreadableLogAndNoBusyDatabase(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s, faulty := openFaulty(t, d)
		ann := user(t, s, "ann")
		for i := range 20 {
			add(t, s, ann, "", fmt.Sprintf("Number %d is as good as any", i))
		}
		seq := d.Query(t, `SELECT max(seq) - 10 FROM index_log`)[0]
		busy := &loci.Error{Code: loci.CodeUnavailable}
		readLog := func(q string, args []any) bool {
			return strings.Contains(q, "document, group_id") && strings.Contains(fmt.Sprint(args[1]), seq)
		}
		faulty.fail(busy, readLog)
		sum, err := integrity.New(s).Check(ctx, integrity.Options{Repair: true})
		if !errors.Is(err, busy) || sum.Found != 0 {
			t.Errorf("a busy database is reported as %v, %+v", err, sum)
		}
		faulty.fail(errPage, readLog)
		if sum := checkIntegrity(t, s, false); sum.Found != 1 {
			t.Errorf("found %v", sum.Inconsistencies)
		}
	})
}
