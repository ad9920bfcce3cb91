package mcp

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
)

// translateSDKError returns a response with its error, if it has one, in words for who
// reads it: the SDK tells faults of the params in the words of Go, and some
// without a code.
func translateSDKError(response []byte) []byte {
	if !bytes.Contains(response, []byte(`"error":{`)) {
		return response
	}
	var f errorResponse
	eachMember(response, func(name, value []byte) {
		switch string(name) {
		case "id":
			f.ID = value
		case "error":
			_ = json.Unmarshal(value, &f.Error) // the SDK has just written it
		}
	})
	code, text := f.Error.Code, f.Error.Message
	if text == "" {
		return response // the word stands in a result
	}
	if f.Error.Code, f.Error.Message = sdkErrorMessage(code, text); f.Error.Code == code && f.Error.Message == text {
		return response
	}
	return f.encode()
}

// sdkErrorMessage returns the code and the text for an error of the SDK.
func sdkErrorMessage(code int, text string) (int, string) {
	if rest, ok := strings.CutPrefix(text, "handling '"); ok {
		if _, rest, ok := strings.Cut(rest, "': "); ok {
			text = rest
		}
	}
	switch {
	case strings.HasPrefix(text, "malformed payload"):
		return code, notAMessage
	case strings.HasPrefix(text, "JSON RPC not handled"), strings.HasPrefix(text, "method not found"):
		return -32601, "There is no such method."
	case strings.HasPrefix(strings.TrimPrefix(text, "invalid params: "), "unmarshaling "):
		return -32602, paramTypeError(text)
	case strings.HasSuffix(text, `missing required "params"`):
		return -32602, "params is required."
	case text == "invalid params": // of a list that has one page alone
		return code, "params.cursor does not belong to this list: start again without it."
	case code != 0:
		return code, text
	case strings.HasSuffix(text, "is invalid during session initialization"):
		return -32600, "The conversation has not begun: send initialize first."
	case strings.HasPrefix(text, "duplicate"):
		return -32600, "The conversation has begun already: initialize is sent once."
	}
	return -32603, "The request could not be carried out: send it again."
}

const notAMessage = "It is no message: a request has jsonrpc, id and method."

// unmarshalErrorPattern finds in the last words of an error which field has another type than
// which; the names of Go's types stand before.
var unmarshalErrorPattern = regexp.MustCompile(`^.*into Go struct field .*mcp\.\w+\.([^ ]+) of type (.+)$`)

// paramTypeError says which of the params has the wrong type.
func paramTypeError(text string) string {
	if strings.HasSuffix(text, "Params") || strings.HasSuffix(text, "ParamsV2") ||
		strings.HasSuffix(text, "ParamsRaw") {
		return "params must be an object."
	}
	m := unmarshalErrorPattern.FindStringSubmatch(text)
	if m == nil {
		return "The params do not have the form that the method asks for."
	}
	switch kind := m[2]; {
	case kind == "string":
		return "params." + m[1] + " must be a string."
	case kind == "bool":
		return "params." + m[1] + " must be true or false."
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "float"):
		return "params." + m[1] + " must be a number."
	case strings.HasPrefix(kind, "[]"):
		return "params." + m[1] + " must be a list."
	case strings.HasPrefix(kind, "map["):
		return "params." + m[1] + " must be an object."
	}
	return "params." + m[1] + " has another type than the protocol gives it."
}
