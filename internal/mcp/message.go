package mcp

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/loci-memory/loci/internal/strictjson"
)

// maxSafeInteger is the largest integer that no reader of JSON changes (RFC 8259, section 6).
const maxSafeInteger = 1<<53 - 1

// validateMessage tells what is wrong with a message as such, with the code of JSON-RPC 2.0
// (section 5.1), or returns zero. The SDK would take the first value of several, and
// numbers as ids that do not come back as they were. What is wrong with the arguments
// of a tool, its operation says.
func validateMessage(message []byte) (code int, text string) {
	if err := strictjson.Walk(message, nil, "params", "arguments"); err != nil {
		return -32700, "The message is not JSON that can be read in one way: " + err.Error() + "."
	}
	switch {
	case bytes.HasPrefix(bytes.TrimSpace(message), []byte("[")):
		return -32600, "Batches are not supported: send one message at a time."
	case hasMisnamedMember(message):
		return -32600,
			"The members of a message are jsonrpc, id, method, params, result and error, in small letters and " +
				"without " +
				"escapes."
	case len(messageID(message)) > maxID:
		return -32600, "The id must have at most 256 bytes."
	case !isValidID(messageID(message)):
		return -32600, "The id must be a string, or an integer of at most 2^53-1."
	}
	return 0, ""
}

// messageMembers are what a message is read by.
var messageMembers = []string{"jsonrpc", "id", "method", "params", "result", "error"}

// hasMisnamedMember reports whether a member has a name by which the SDK would take it for another: it reads
// names in any letter case, and escaped.
func hasMisnamedMember(message []byte) (found bool) {
	eachMember(message, func(name, _ []byte) {
		found = found || bytes.IndexByte(name, '\\') >= 0 || slices.ContainsFunc(messageMembers, func(m string) bool {
			return string(name) != m && strings.EqualFold(string(name), m)
		})
	})
	return found
}

// maxID is the most bytes of an id, which comes back with every answer.
const maxID = 256

// messageID returns the id of a message that is valid JSON, or nil where it has none.
func messageID(message []byte) json.RawMessage {
	var id json.RawMessage
	eachMember(message, func(name, value []byte) {
		if string(name) == "id" && string(value) != "null" {
			id = value
		}
	})
	return id
}

// isValidID reports whether an id can come back as it was; a message may have none.
func isValidID(id json.RawMessage) bool {
	if len(id) == 0 || id[0] == '"' {
		return true
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && -maxSafeInteger <= n && n <= maxSafeInteger
}
