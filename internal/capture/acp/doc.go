// Package acp reads a conversation of the Agent Client Protocol, version 1 (https://agentclientprotocol.com), and
// extracts the events of its sessions: the user's prompt and the agent's final answer of each turn.
//
// A [Reader] never extracts reasoning, plans, tools, files or embedded resources. It extracts nothing while a session
// is being loaded, from a canceled or failed turn, and from a turn with lost bytes. Its memory is bounded.
package acp
