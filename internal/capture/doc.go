// Package capture extracts the events of automatic memory from the hooks of coding agents: the prompt and the last
// answer of each turn, the start and the end of a session. [Read] is a pure function from one payload to events.
//
// Nothing else leaves it: no reasoning, no tool calls and results, no system prompts, no deltas, no words of subagents.
// Transcripts are never opened. Quotations of memories are removed ([fence.Strip]) and credentials are redacted
// ([secret.Redact]) in every text, path and id before an event is made; the audit of an event counts them.
//
// # Ids
//
// An event's id is its type and the agent's own id of the turn or message, such as "prompt:ede4a97c". So the same
// payload always gives the same ids, and a repeated delivery changes nothing. Where the agent gives no id, it is a hash
// of session, type and text. The unit key is the id of the turn: of its prompt.
//
// # Payloads
//
// A payload is one JSON object of at most 16 MiB. Unknown events and fields are ignored.
//
//   - claude, workbuddy: the object that Claude Code writes to the stdin of a hook. Used: SessionStart,
//     UserPromptSubmit, Stop, SessionEnd. An object with an agent_id comes from a subagent and is ignored.
//   - codex: the same events on stdin, and the object of "agent-turn-complete" that notify passes as the last
//     argument. Both name one turn by its turn_id, so it counts once.
//   - opencode: the plugin writes {"k": KIND, "cwd": FOLDER, "v": VALUE}, where cwd is the directory of the plugin's
//     input. KIND is one of three. "chat.message" has the arguments of that hook, {"i": input, "o": {"message",
//     "parts"}}, and is a prompt. "message" has one item of client.session.messages(), {"info", "parts"}; the plugin
//     sends the last one of the assistant at session.idle, which is the answer: info needs id, sessionID, role,
//     parentID, finish and error, parts only those of type text. "event" has an event of type session.created or
//     session.deleted as it is. The plugin sends nothing of a session with a parentID, which is a subagent's.
//   - pi: the extension writes {"e": NAME, "event": EVENT, "extra": {"sessionId", "cwd"}}. Used: session_start,
//     message_end of role user (the prompt), agent_end (its messages of role user and assistant: prompts and answer)
//     and session_shutdown. The extension may leave out of agent_end all messages but these, and all content but
//     text.
package capture
