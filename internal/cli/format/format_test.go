package format

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/loci-memory/loci/internal/testenv"
)

func TestKebabConvertsWireNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"atlas_id": "atlas-id", "atlasId": "atlas-id", "inviteURL": "invite-url",
		"content": "content", "agent_message": "agent-message", "expiresInDays": "expires-in-days"} {
		testenv.Equal(t, Kebab(name), want)
	}
}

func TestStripControl(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		lines bool
		want  string
	}{
		{"a\x1b[31mb\u009b1mc\x00d\r", true, "a␛[31mb<U+009B>1mc␀d␍"},
		{"a\tb\nc", true, "a\tb\nc"},
		{"a\x07b\x7f\r\nc", true, "a␇b␡\nc"},
		{"a\tb\nc", false, "a b c"},
		{"gnp.\u202egod \u2066x\u2069\u200f", false, "gnp.<U+202E>god <U+2066>x<U+2069><U+200F>"},
		{"שלום \u202bעולם\u202c\n", true, "שלום <U+202B>עולם<U+202C>\n"},
		{"if admin \u202e\u2066// fi\u2069\u200f", true, "if admin <U+202E><U+2066>// fi<U+2069>\u200f"},
		{"naïve 日本 👩🏽‍💻", false, "naïve 日本 👩🏽‍💻"},
	} {
		testenv.Equal(t, StripControl(c.text, c.lines), c.want)
	}
}

func TestEscapeJSONKeepsTheValue(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{\"a\":\"\u009b2J\"}":            `{"a":"\u009b2J"}`,
		"{\"a\":\"x\u202e\u007f\u2066\"}": `{"a":"x\u202e\u007f\u2066"}`,
		"{\"ü\":\"日本 🚀 é\"}\n":            "{\"ü\":\"日本 🚀 é\"}\n",
	} {
		got := EscapeJSON([]byte(text))
		var a, b any
		if string(got) != want || json.Unmarshal(got, &a) != nil || json.Unmarshal([]byte(text), &b) != nil ||
			!reflect.DeepEqual(a, b) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestSizesAreForPeople(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 bytes", 1: "1 byte", 1023: "1023 bytes", 1536: "1.5 KiB",
		5 << 20: "5.0 MiB", 5 << 30: "5.0 GiB", 5 << 40: "5120.0 GiB"} {
		testenv.Equal(t, Bytes(n), want)
	}
}
