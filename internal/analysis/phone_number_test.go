package analysis

import "testing"

func TestOtherNumbersAreNoPhoneNumbers(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"2025-03-14", "14.03.2025", "01/03/2025", "192.168.1.100", "10.0.19045.3803", "0.1234567", "1 2 3 4 5 6 7 8",
		"12345678", "1,234,567", "12:34:56.789",
		"2025-03-14 10:30", "555-01", "0123456", "12 34 56 78 90 12 34 56", "550e8400-e29b-41d4", "1234-5678-abc",
		"030 1234567x", "030-1234567-a",
	} {
		if p := phoneAt(text, 0); p.suffix != "" {
			t.Errorf("%q is read as the phone number %+v", text, p)
		}
	}
}
