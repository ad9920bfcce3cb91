package mcp

import (
	"strings"
	"testing"
)

func TestParseMessageRejectsLongID(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{1: 0, maxID - 2: 0, maxID - 1: -32600, 1 << 20: -32600} {
		message := `{"jsonrpc":"2.0","method":"ping","id":"` + strings.Repeat("x", n) + `"}`
		if _, err := parseMessage([]byte(message)); (err == nil) != (want == 0) || err != nil && err.Code != want {
			t.Errorf("an id of %d bytes and two quotes: %v", n, err)
		}
	}
}

func TestParseMessageRejectsMisnamedMembers(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]int{
		`{"jsonrpc":"2.0","method":"ping","id":1}`:          0,
		`{"jsonrpc":"2.0","method":"ping","id":1,"idea":2}`: 0,
		`{"jsonrpc":"2.0","method":"ping","ID":1}`:          -32600,
		`{"jsonrpc":"2.0","method":"ping","\u0069d":1}`:     0,
		`{"jsonrpc":"2.0","Method":"ping","id":1}`:          -32600,
	} {
		if _, err := parseMessage([]byte(message)); (err == nil) != (want == 0) || err != nil && err.Code != want {
			t.Errorf("%s: %v", message, err)
		}
	}
}
