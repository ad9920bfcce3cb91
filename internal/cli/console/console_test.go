package console

import (
	"io"
	"strings"
	"testing"
)

func TestConfirmAcceptsOnlyYes(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]error{"y\n": nil, " YES \n": nil, "\n": errDeclined, "": errDeclined,
		"no\n": errDeclined, "yess\n": errDeclined} {
		c := &Console{In: strings.NewReader(line), Err: io.Discard}
		if err := c.Confirm(t.Context(), "Delete it"); err != want {
			t.Errorf("%q: %v", line, err)
		}
	}
}
