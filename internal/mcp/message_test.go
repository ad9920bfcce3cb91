package mcp

import (
	"strings"
	"testing"
)

func TestValidateMessageRejectsLongID(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{1: 0, maxID - 2: 0, maxID - 1: -32600, 1 << 20: -32600} {
		message := `{"jsonrpc":"2.0","method":"ping","id":"` + strings.Repeat("x", n) + `"}`
		if code, text := validateMessage([]byte(message)); code != want {
			t.Errorf("an id of %d bytes and two quotes: %d %s", n, code, text)
		}
	}
}

func TestValidateMessageRejectsMisnamedMembers(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]int{
		`{"jsonrpc":"2.0","method":"ping","id":1}`:          0,
		`{"jsonrpc":"2.0","method":"ping","id":1,"idea":2}`: 0,
		`{"jsonrpc":"2.0","method":"ping","ID":1}`:          -32600,
		`{"jsonrpc":"2.0","method":"ping","\u0069d":1}`:     -32600,
		`{"jsonrpc":"2.0","Method":"ping","id":1}`:          -32600,
	} {
		if code, text := validateMessage([]byte(message)); code != want {
			t.Errorf("%s: %d %s", message, code, text)
		}
	}
}
