package setup

import "testing"
import "github.com/loci-memory/loci/internal/testenv"

// TestChangeOfOtherSettingsIsNotWritten checks texts that no edit should make.
func TestChangeOfOtherSettingsIsNotWritten(t *testing.T) {
	t.Parallel()
	jsonc := &Client{container: "servers"}
	for _, c := range []struct {
		client        *Client
		before, after string
		ok            bool
	}{
		{jsonc, `{"a": 1.50}`, `{"servers": {"loci": 1}, "a": 1.50}`, true},
		{jsonc, "", `{"servers": {"loci": 1}}`, true},
		{jsonc, `{"a": 1.50}`, `{"servers": {"loci": 1}, "a": 1.5}`, false},
		{jsonc, `{"a": 1}`, `{"servers": {"loci": 1}}`, false},
		{jsonc, `{"servers": {"b": 1}}`, `{"servers": {"loci": 1}}`, false},
		{jsonc, `{}`, `{"servers": {"loci": 2}}`, false},
		{jsonc, `{}`, `{"servers": {"loci": 1}`, false},
		{codexLike, "a = 1", "a = 1\nservers.loci = '1'", true},
		{codexLike, "a = 1", "servers.loci = '1'", false},
		{codexLike, "a = '''\n[servers.loci]'''", "servers.loci = '1'\na = '''\n'''", false},
		{codexLike, "[servers.b]", "[servers.b]\n[servers.c]\n[servers]\nloci = '1'", false},
		{codexLike, "", "a = ", false},
	} {
		var want any = "1"
		if !c.client.toml {
			testenv.NoError(t, decodeJSON([]byte("1"), &want))
		}
		if err := c.client.check([]byte(c.before), []byte(c.after), "loci", want); (err == nil) != c.ok {
			t.Errorf("%q to %q: %v", c.before, c.after, err)
		}
	}
}

func TestChangeOfOtherHooksIsNotWritten(t *testing.T) {
	t.Parallel()
	const own, other = `{"hooks": [{"command": "loci hook claude"}]}`, `{"hooks": [{"command": "x"}]}`
	c := newWorld(t).wired("claude", nil)
	for after, ok := range map[string]bool{
		`{"hooks": {"Stop": [` + other + `, ` + own + `], "SessionEnd": [` + own + `]}, "a": 1}`: true,
		`{"hooks": {"Stop": [` + other + `]}, "a": 1}`:                                           true,
		`{"hooks": {"Stop": [` + own + `]}, "a": 1}`:                                             false,
		`{"hooks": {"Stop": [` + other + `, ` + other + `]}, "a": 1}`:                            false,
		`{"hooks": {"Stop": [` + other + `]}}`:                                                   false,
		`{"hooks": {"Stop": [` + other + `]}, "a": 1`:                                            false,
	} {
		err := turnHooks.check(c, []byte(`{"hooks": {"Stop": [`+other+`]}, "a": 1}`), []byte(after))
		if (err == nil) != ok {
			t.Errorf("%s: %v", after, err)
		}
	}
}
