package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/loci-memory/loci/internal/strictjson"
)

// A message is one message of a client (JSON-RPC 2.0). Its values are as they were sent.
type message struct {
	members map[string]json.RawMessage
	params  map[string]json.RawMessage
	meta    map[string]json.RawMessage // of the params
	method  string                     // empty in a response, and in what is no message
	size    int                        // bytes of the message
}

// parseMessage reads a message in one pass. The arguments of a tool are judged by its operation.
func parseMessage(text []byte) (*message, *rpcError) {
	m := &message{members: map[string]json.RawMessage{}, params: map[string]json.RawMessage{},
		meta: map[string]json.RawMessage{}, size: len(text)}
	if err := strictjson.Walk(text, m.visit, "params", "arguments"); err != nil {
		return nil, parseError(err)
	}
	return m, m.check()
}

// maxBatch is the most messages of a batch.
const maxBatch = 20

var errBatchSize = errors.New("wrong number of messages")

// splitBatch returns the messages of a batch, or nil where the text is none. One revision has batches.
func splitBatch(text []byte, revision string) (messages [][]byte, failed *rpcError) {
	in := strictjson.NewScanner(text)
	if in.Next() != '[' {
		return nil, nil
	}
	if revision != batchRevision {
		return nil, invalidRequest(nil, "Only revision "+batchRevision+" has batches: send one message at a time.")
	}
	err := in.Items(']', func() error {
		m, err := in.Raw()
		if messages = append(messages, m); len(messages) > maxBatch {
			return errBatchSize
		}
		return err
	})
	if err == nil {
		err = in.End("batch")
	}
	switch {
	case err == errBatchSize, err == nil && len(messages) == 0:
		return nil, invalidRequest(nil, fmt.Sprintf("A batch has 1 to %d messages.", maxBatch))
	case err != nil:
		return nil, parseError(err)
	}
	return messages, nil
}

func parseError(err error) *rpcError {
	return &rpcError{Code: codeParseError,
		Message: "The message is not JSON that can be read in one way: " + err.Error() + "."}
}

func (m *message) visit(path []string, value []byte) {
	switch {
	case len(path) == 1:
		m.members[path[0]] = value
	case len(path) == 2 && path[0] == "params":
		m.params[path[1]] = value
	case len(path) == 3 && path[0] == "params" && path[1] == "_meta":
		m.meta[path[2]] = value
	}
}

// messageMembers are the members of a message.
var messageMembers = []string{"jsonrpc", "id", "method", "params", "result", "error"}

// maxID is the most bytes of an id, which comes back with every response.
const maxID = 256

// check returns what is wrong with a message as such.
func (m *message) check() *rpcError {
	for name := range m.members {
		if known := strings.ToLower(name); known != name && slices.Contains(messageMembers, known) {
			return invalidRequest(nil,
				"The members of a message are jsonrpc, id, method, params, result and error, in small letters.")
		}
	}
	id := m.id()
	if len(id) > maxID {
		return invalidRequest(nil, "The id must have at most 256 bytes.")
	}
	if !isValidID(id) {
		return invalidRequest(nil, "The id must be a string, or an integer of at most 2^53-1.")
	}
	method, isText := text(m.members["method"])
	if string(m.members["jsonrpc"]) != `"2.0"` || m.members["method"] != nil && !isText ||
		method == "" && !m.isResponse() {
		return invalidRequest(id, "It is no message: a request has jsonrpc, id and method.")
	}
	if m.method = method; method != "" && m.isNotification() != (id == nil) {
		return invalidRequest(id, "A request has an id, and a notification has none.")
	}
	if method != "" && (m.members["result"] != nil || m.members["error"] != nil) {
		return invalidRequest(id, "A message has either a method, or a result or an error.")
	}
	return nil
}

// id returns the id, or nil.
func (m *message) id() json.RawMessage {
	if id := m.members["id"]; string(id) != "null" {
		return id
	}
	return nil
}

func (m *message) isNotification() bool { return strings.HasPrefix(m.method, "notifications/") }

func (m *message) isResponse() bool {
	return m.id() != nil && (m.members["result"] != nil || isObject(m.members["error"]))
}

// maxSafeInteger is the largest integer that no reader of JSON changes (RFC 8259, section 6).
const maxSafeInteger = 1<<53 - 1

// isValidID reports whether an id can come back as it was; a message may have none.
func isValidID(id json.RawMessage) bool {
	if len(id) == 0 || id[0] == '"' {
		return true
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && -maxSafeInteger <= n && n <= maxSafeInteger
}

// text returns the value of a JSON string, and whether it is one.
func text(value json.RawMessage) (s string, ok bool) {
	return s, len(value) > 0 && value[0] == '"' && json.Unmarshal(value, &s) == nil
}

func isObject(value json.RawMessage) bool { return len(value) > 0 && value[0] == '{' }
