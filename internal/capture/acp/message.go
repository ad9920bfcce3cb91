package acp

import (
	"encoding/json"
	"slices"
	"strings"
)

// A message is a request, a notification or a response of JSON-RPC 2.0.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// Methods and notifications whose parameters are read.
const (
	methodInitialize    = "initialize"
	methodNew           = "session/new"
	methodLoad          = "session/load"
	methodResume        = "session/resume"
	methodFork          = "session/fork" // unstable in version 1
	methodPrompt        = "session/prompt"
	methodCancel        = "session/cancel"
	methodClose         = "session/close"
	methodDelete        = "session/delete"
	methodUpdate        = "session/update"
	methodCancelRequest = "$/cancel_request"
)

// clientMethods are the methods of the client that are read.
var clientMethods = []string{methodInitialize, methodNew, methodLoad, methodResume, methodFork, methodPrompt,
	methodCancel, methodClose, methodDelete, methodCancelRequest}

// params are the parameters of requests and notifications.
type params struct {
	SessionID string          `json:"sessionId"`
	Cwd       string          `json:"cwd"`
	Prompt    []block         `json:"prompt"`
	Update    update          `json:"update"`
	RequestID json.RawMessage `json:"requestId"`
}

// An update is a part of an agent's output. The content depends on its kind.
type update struct {
	Kind      string          `json:"sessionUpdate"`
	Content   json.RawMessage `json:"content"`
	MessageID string          `json:"messageId"`
	Meta      struct {
		ClaudeCode struct {
			ParentToolUseID string `json:"parentToolUseId"`
		} `json:"claudeCode"`
	} `json:"_meta"`
}

// Kinds of updates that say nothing of the turn: they may stand between two parts of one message.
var sessionKinds = []string{"available_commands_update", "current_mode_update", "config_option_update",
	"session_info_update", "usage_update"}

// kindMessage is the kind of a part of an agent's message.
const kindMessage = "agent_message_chunk"

// ofSubagent reports whether the update is the work of another agent, which the agent of the session has called as a
// tool. Claude Code marks it so.
func (u update) ofSubagent() bool { return u.Meta.ClaudeCode.ParentToolUseID != "" }

// text returns the text of a part of a message, or "".
func (u update) text() string {
	var b block
	if json.Unmarshal(u.Content, &b) != nil || b.Type != "text" {
		return ""
	}
	return b.Text
}

// A result has the results of requests.
type result struct {
	SessionID  string `json:"sessionId"`
	StopReason string `json:"stopReason"`
	AgentInfo  struct {
		Name  string `json:"name"`
		Title string `json:"title"`
	} `json:"agentInfo"`
}

// A block is a content block of a prompt or a message.
type block struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Annotations struct {
		Audience []string `json:"audience"`
	} `json:"annotations"`
}

// written reports whether the user has written the block: a text that is not hidden from the user.
func (b block) written() bool {
	return b.Type == "text" && (len(b.Annotations.Audience) == 0 || slices.Contains(b.Annotations.Audience, "user"))
}

// writtenText joins the texts that the user has written. Between them were files and links, in a line or on their own.
func writtenText(blocks []block) string {
	var text strings.Builder
	for _, b := range blocks {
		if !b.written() || b.Text == "" {
			continue
		}
		if s := text.String(); s != "" && !strings.ContainsAny(s[len(s)-1:]+b.Text[:1], " \t\n") {
			text.WriteByte('\n')
		}
		text.WriteString(b.Text)
	}
	return text.String()
}

// key returns the id of a request as the key of a map. Ids of strings and numbers differ.
func key(id json.RawMessage) string {
	if len(id) > maxID || string(id) == "null" {
		return ""
	}
	return string(id)
}
