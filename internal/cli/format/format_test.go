package format

import "testing"

func TestKebabConvertsWireNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"atlas_id": "atlas-id", "atlasId": "atlas-id", "inviteURL": "invite-url",
		"content": "content", "agent_message": "agent-message", "expiresInDays": "expires-in-days"} {
		if got := Kebab(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
