package query

import (
	"testing"

	"github.com/loci-memory/loci/internal/index/indextest"
)

func TestPhoneNumbersFindEachOtherHoweverTheyAreWritten(t *testing.T) {
	t.Parallel()
	for _, forms := range [][]string{
		{"+49 30 1234567", "+49-30-123-4567", "030 1234567", "(030) 123 45 67", "+49 (0)30 1234567", "+49301234567",
			"030/1234567", "030 / 123-4567", "0301234567",
			"0049 30 1234567", "+49 30\u00a0123\u202f45\u202f67", "+49.30.1234567", "030 1234-567", "1234567",
			"123 45 67", "123-45-67", "030‑123‑4567"},
		{"+1 (555) 123-0199", "555-123-0199", "(555) 123-0199", "555 123 0199", "555.123.0199 or +1 555 123 0199",
			"1230199"},
		{"01 23 45 67 89", "+33 1 23 45 67 89", "01.23.45.67.89", "0033 1 23456789"},
	} {
		for _, text := range forms {
			d := indextest.NewStore()
			v := buildSnapshot(t, d, "something else and more", "call "+text+", please", "end of it in 30 days",
				"more of it", "and with this from you")
			for _, query := range forms {
				if got, err := searchRewritten(v, d, query); err != nil || len(got) == 0 || got[0] != 2 {
					t.Errorf("%q: %s finds %v, %v", text, query, got, err)
				}
			}
		}
	}
}

func TestPhoneNumbersAreMarkedInTexts(t *testing.T) {
	t.Parallel()
	for _, query := range []string{"+49 30 1234567", "(030) 123 45 67"} {
		m := Parse(query).Match("call 1234567 now")
		if len(m.matches) != 1 || m.text[m.matches[0].from:m.matches[0].to] != "1234567" {
			t.Errorf("%s: %+v, want the number", query, m.matches)
		}
	}
	m := Parse("1234567").Match("call (030) 123 45 67 now")
	if len(m.matches) != 1 || m.text[m.matches[0].from:m.matches[0].to] != "67" {
		t.Errorf("%+v, want the last digits", m.matches)
	}
}
