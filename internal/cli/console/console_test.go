package console

import (
	"io"
	"strings"
	"testing"
)

func TestKebabConvertsWireNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"atlas_id": "atlas-id", "atlasId": "atlas-id", "inviteURL": "invite-url",
		"content": "content", "agent_message": "agent-message", "expiresInDays": "expires-in-days"} {
		if got := Kebab(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

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
