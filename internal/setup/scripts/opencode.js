// Written by loci setup, which replaces or removes this file: change nothing here.
// It reports prompts and answers of opencode to Loci, never tools, files or reasoning. It is a plugin of both
// generations: version 1 of opencode calls server, version 2 calls setup.
import { spawn, spawnSync } from 'node:child_process'

const command = ["<command>", "<args>"]

const maxKept = 200
const subagents = new Map() // sessions in which an agent writes the prompts
const prompts = new Map() // the last prompt of a session; of version 2 alone, which does not name it in answers
const answers = new Map() // the texts of an answer by its message, until it is complete

// keep sets a value of a map, and makes room for it.
function keep(map, key, value) {
  if (!map.has(key) && map.size >= maxKept) map.delete(map.keys().next().value)
  map.set(key, value)
}

// take returns the texts of a complete answer, and forgets them.
function take(message) {
  const texts = [...(answers.get(message)?.values() ?? [])]
  answers.delete(message)
  return texts
}

function report(k, cwd, session, v) {
  if (!subagents.has(session)) deliver({ k, cwd, v })
}

// reportPrompt reports the arguments of the hook chat.message.
function reportPrompt(cwd, { id, sessionID, time }, parts) {
  const o = { message: { id, sessionID, role: 'user', time }, parts: textsOf(parts) }
  if (o.parts.length) report('chat.message', cwd, sessionID, { i: { sessionID }, o })
}

// reportAnswer reports the last answer of a turn: one that calls no tool.
function reportAnswer(cwd, { id, sessionID, parentID, mode, summary, finish, error, time }) {
  const parts = textsOf(take(id))
  if (finish === 'tool-calls' || !parts.length) return
  const info = { id, sessionID, role: 'assistant', parentID, mode, finish, time }
  report('message', cwd, sessionID, { info: { ...info, summary: summary === true, error: error?.name }, parts })
}

function reportSession(cwd, type, id) {
  report('event', cwd, id, { type, properties: { info: { id } } })
}

// on1 has the events of version 1.
const on1 = {
  'session.created': (cwd, { info }) => {
    if (info.parentID) keep(subagents, info.id, true)
    reportSession(cwd, 'session.created', info.id)
  },
  'message.part.updated': (cwd, { part }) => { // a part that comes again replaces the first
    if (part.type !== 'text' || !part.time?.end) return
    keep(answers, part.messageID, (answers.get(part.messageID) ?? new Map()).set(part.id, part))
  },
  'message.updated': (cwd, { info }) => {
    if (info.role === 'assistant' && info.time?.completed) reportAnswer(cwd, info)
  },
  'session.deleted': (cwd, { info }) => {
    reportSession(cwd, 'session.deleted', info.id)
    subagents.delete(info.id)
  },
}

// server is the plugin of version 1.
async function server({ directory }) {
  return {
    'chat.message': quiet((input, { message, parts }) => reportPrompt(directory, message, parts)),
    event: quiet(({ event }) => on1[event.type]?.(directory, event.properties)),
    dispose: quiet(flush),
  }
}

// on2 has the events of version 2. Sessions whose prompts did not pass here belong to another instance.
const on2 = {
  'session.text.ended': (cwd, { sessionID, assistantMessageID, ordinal, text }) => {
    if (!prompts.has(sessionID)) return
    const texts = answers.get(assistantMessageID) ?? new Map()
    keep(answers, assistantMessageID, texts.set(ordinal, { type: 'text', text }))
  },
  'session.step.ended': (cwd, { sessionID, assistantMessageID, finish }) => {
    const time = { created: Date.now() }
    reportAnswer(cwd, { id: assistantMessageID, sessionID, parentID: prompts.get(sessionID), finish, time })
  },
  'session.deleted': (cwd, { sessionID }) => {
    if (prompts.delete(sessionID)) reportSession(cwd, 'session.deleted', sessionID)
    subagents.delete(sessionID)
  },
}

// setup is the plugin of version 2.
async function setup(context) {
  const cwd = context.location?.directory
  await context.session.hook('prompt', quiet(async ({ sessionID, messageID, prompt }) => {
    const { text } = prompt // before anything else changes it
    const first = !prompts.has(sessionID)
    keep(prompts, sessionID, messageID)
    if (first) {
      const session = await quiet(() => context.session.get({ sessionID }))()
      if (session?.parentID) keep(subagents, sessionID, true)
      reportSession(cwd, 'session.created', sessionID)
    }
    reportPrompt(cwd, { id: messageID, sessionID, time: { created: Date.now() } }, [{ type: 'text', text }])
  }))
  const events = context.event.subscribe()[Symbol.asyncIterator]()
  quiet(async () => {
    for (let next = await events.next(); !next.done; next = await events.next()) {
      await quiet(() => on2[next.value.type]?.(cwd, next.value.data))()
    }
  })()
  return quiet(async () => {
    events.return?.()
    await flush()
  })
}

export default { id: 'loci', server, setup }
