package loci_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

func TestTimesTravelAsUTCWithMilliseconds(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Time{time.Unix(0, 0), time.Date(2026, 11, 21, 13, 8, 9, 7_654_321, time.FixedZone("x", 3600)), time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)} {
		b, err := json.Marshal(loci.At(at))
		if want := `"` + at.UTC().Format("2006-01-02T15:04:05.000Z") + `"`; err != nil || string(b) != want {
			t.Errorf("%s, %v; want %s", b, err, want)
		}
	}
	var back loci.Time
	if err := json.Unmarshal([]byte(`"2026-01-02T03:04:05.678901+01:00"`), &back); err != nil || back.Std().Format(time.RFC3339Nano) != "2026-01-02T02:04:05.678901Z" {
		t.Errorf("%v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`"2026-01-02T03:04:05"`), &back); err == nil {
		t.Error("a time without an offset is taken")
	}
}
