// Written by loci setup, which replaces or removes this file: change nothing here.
// It reports prompts and answers of pi to Loci, never tools, files or reasoning.
import { spawn, spawnSync } from 'node:child_process'

const command = ["<command>", "<args>"]

const extensions = new Set() // texts that extensions sent in place of a person, until they are messages
const skipped = new Set() // the times of these messages
const maxKept = 200

function keep(set, value) {
  if (set.size >= maxKept) set.delete(set.keys().next().value)
  set.add(value)
}

function report(e, context, event) {
  deliver({ e, event, extra: { sessionId: context.sessionManager.getSessionId(), cwd: context.cwd } })
}

// own returns a message of a person or the model with its texts alone.
function own({ role, content, stopReason, timestamp }) {
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  return { role, content: textsOf(parts), stopReason, timestamp }
}

function isOwn({ role, timestamp }) {
  return role === 'assistant' || role === 'user' && !skipped.has(timestamp)
}

export default function (pi) {
  pi.on('session_start', quiet(({ reason }, context) => report('session_start', context, { reason })))
  pi.on('input', quiet(({ source, text }) => {
    if (source === 'extension') keep(extensions, text)
  }))
  pi.on('message_end', quiet(({ message }, context) => {
    if (message.role !== 'user') return
    const sent = own(message)
    if (extensions.delete(sent.content.map((part) => part.text).join(''))) keep(skipped, message.timestamp)
    else if (sent.content.length) report('message_end', context, { message: sent })
  }))
  pi.on('agent_end', quiet(({ messages }, context) => {
    report('agent_end', context, { messages: messages.filter(isOwn).map(own) })
  }))
  pi.on('session_shutdown', quiet(async ({ reason }, context) => {
    report('session_shutdown', context, { reason })
    await flush()
  }))
}
