package testenv

import "testing"

func TestRequiresNamedEngines(t *testing.T) {
	for list, want := range map[string]bool{"": false, "pg15": false, "pg1": false, "mattn,pg18": true, "all": true} {
		t.Setenv("LOCI_TEST_REQUIRE", list)
		if got := Requires("pg18"); got != want {
			t.Errorf("%q requires pg18: %t, want %t", list, got, want)
		}
	}
}
