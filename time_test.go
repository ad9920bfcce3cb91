package loci_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

func TestTimesAreUTCWithMillisecondsOnTheWire(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Time{time.Unix(0, 0),
		time.Date(2026, 11, 21, 13, 8, 9, 7_654_321, time.FixedZone("x", 3600)),
		time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)} {
		b, err := json.Marshal(loci.TimeOf(at))
		if want := `"` + at.UTC().Format("2006-01-02T15:04:05.000Z") + `"`; err != nil || string(b) != want {
			t.Errorf("%s, %v; want %s", b, err, want)
		}
	}
	var back loci.Time
	if err := json.Unmarshal([]byte(`"2026-01-02T03:04:05.678901+01:00"`), &back); err != nil ||
		back.Std().Format(time.RFC3339Nano) != "2026-01-02T02:04:05.678901Z" {
		t.Errorf("%v, %v", back, err)
	}
	for _, wrong := range []string{"2026-01-02T03:04:05", "2026-01-02T03:04:05,5Z", "2026-01-02T3:04:05Z",
		"9999-12-31T23:59:59-00:01", "0000-01-01T00:00:00+00:01", "10000-01-01T00:00:00Z"} {
		if err := json.Unmarshal([]byte(`"`+wrong+`"`), &back); err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
	for in, want := range map[string]string{"9999-12-31T23:59:59.999Z": "9999-12-31T23:59:59.999Z",
		"0000-01-01T00:00:00Z": "0000-01-01T00:00:00.000Z", "1970-01-01T00:00:00Z": "1970-01-01T00:00:00.000Z"} {
		if err := json.Unmarshal([]byte(`"`+in+`"`), &back); err != nil || back == 0 || back.String() != want {
			t.Errorf("%s is %d, %v: %v", in, back, back, err)
		}
	}
}

// Even an impossible time is written: a failing response would hide the other records.
func TestEveryTimeIsMarshalled(t *testing.T) {
	t.Parallel()
	for at, want := range map[loci.Time]string{math.MinInt64: "0000-01-01T00:00:00.000Z",
		math.MaxInt64: "9999-12-31T23:59:59.999Z"} {
		if b, err := at.MarshalText(); err != nil || string(b) != want {
			t.Errorf("%d is %s, %v", at, b, err)
		}
	}
}
