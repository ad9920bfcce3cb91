// Written by loci setup, which replaces or removes this file: change nothing here.
// It reports prompts and answers of pi to Loci, never tools, files or reasoning.
import { spawn, spawnSync } from 'node:child_process'

const command = ["<command>", "<args>"]

const run = Date.now().toString(36) // pi gives prompts no ids
let prompts = 0

const of = (context) => ({ session: context.sessionManager.getSessionId(), cwd: context.cwd })

export default function (pi) {
  pi.on('session_start', quiet((event, context) => {
    if (event.reason !== 'reload') deliver({ type: 'session.start', ...of(context) })
  }))
  pi.on('input', quiet((event, context) => { // an extension's input is no prompt of a person
    const text = event.source === 'extension' ? '' : textOf(event.text)
    if (text) deliver({ type: 'prompt', ...of(context), id: `${run}-${++prompts}`, text })
  }))
  pi.on('agent_end', quiet((event, context) => {
    const last = event.messages.findLast((message) => message.role === 'assistant')
    const text = last?.stopReason === 'stop' || last?.stopReason === 'length' ? textOf(last.content) : ''
    if (text) deliver({ type: 'response', ...of(context), id: `${run}-${prompts}-answer`, text })
  }))
  pi.on('session_shutdown', quiet(async (event, context) => {
    if (event.reason !== 'reload') deliver({ type: 'session.end', ...of(context) })
    await flush()
  }))
}
