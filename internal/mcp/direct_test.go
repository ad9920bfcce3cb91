package mcp_test

import (
	"encoding/json"
	"reflect"
	"testing"
)

// TestDirectAnswersAreThoseOfTheSDK sends each call a second time with a field
// that the direct way leaves to the SDK.
func TestDirectAnswersAreThoseOfTheSDK(t *testing.T) {
	t.Parallel()
	c := client{t: t, url: serve(t, newShelf()), key: "ann"}
	c.tool("memory_create", object{"content": "<One> & \u2028 \"two\" 宮殿"})
	for _, version := range append(eras, "", "2025-03-26") {
		c.version = version
		for _, call := range []object{
			{"name": "memory_list"},
			{"name": "memory_list", "arguments": object{"limit": 0}},
			{"name": "memory_search", "arguments": object{"query": "One"}},
		} {
			m := c.message("tools/call", call)
			direct := c.post(m, "X-Request-Id", "same")
			m["params"].(object)["requestState"] = ""
			through := c.post(m, "X-Request-Id", "same")
			if direct.StatusCode != through.StatusCode || !reflect.DeepEqual(direct.rpc, through.rpc) {
				t.Errorf("%s %v:\n%d %s\n%d %s", version, call, direct.StatusCode, direct.body, through.StatusCode, through.body)
			}
			if version != "" && version != "2025-03-26" {
				conforms(t, version, "CallToolResult", direct.rpc["result"])
			}
		}
	}
}

func TestIdsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	c := client{t: t, url: serve(t, newShelf()), version: "2025-11-25", key: "ann"}
	for _, id := range []any{0.0, -5.0, 9007199254740991.0, "seven", "", "\u2028<\""} {
		m := c.message("tools/call", object{"name": "memory_list"})
		m["id"] = id
		if a := c.post(m); a.rpc["id"] != id || a.rpc["result"] == nil {
			t.Errorf("%v: %s", id, a.body)
		}
	}
	var m object
	_ = json.Unmarshal([]byte(`{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"memory_list"}}`), &m)
	if a := c.post(m); a.StatusCode != 400 {
		t.Errorf("no id: %d %s", a.StatusCode, a.body)
	}
}
