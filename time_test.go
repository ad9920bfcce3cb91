package loci_test

import (
	"encoding/json"
	"math"
	"strings"
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

func TestMomentsAreTimesDatesAndAges(t *testing.T) {
	t.Parallel()
	now := loci.TimeOf(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	for text, want := range map[loci.Moment]string{
		"2026-02-28":                "2026-02-28T00:00:00.000Z",
		"1970-01-01":                "1970-01-01T00:00:00.000Z",
		"2026-02-28T01:00:00+01:00": "2026-02-28T00:00:00.000Z",
		"36h":                       "2026-02-28T00:00:00.000Z",
		"1d":                        "2026-02-28T12:00:00.000Z",
		"4w":                        "2026-02-01T12:00:00.000Z",
		"0h":                        "2026-03-01T12:00:00.000Z",
		"36600d":                    "1925-12-16T12:00:00.000Z",
	} {
		if at, err := text.At(now, "since"); err != nil || at == 0 || at.String() != want {
			t.Errorf("%s is %s, want %s: %v", text, at, want, err)
		}
	}
	for _, text := range []loci.Moment{"yesterday", "7", "7y", "7D", "-7d", "+7d", "1.5d", "d", " 7d", "7d ",
		"2026-02-30", "2026-2-1", "2026-02",
		"2026-11-01T00:00:00", "36601d", "99999999999999999999d", "1e3d", "0x1d", "\x00"} {
		if at, err := text.At(now, "since"); !loci.Is(err, loci.CodeInvalidQuery) ||
			!strings.Contains(err.Error(), "since must be ") {
			t.Errorf("%s is %s, %v", text, at, err)
		}
	}
	if at, err := loci.Moment("").At(now, "since"); at != 0 || err != nil {
		t.Errorf("no moment is %s, %v", at, err)
	}
}
