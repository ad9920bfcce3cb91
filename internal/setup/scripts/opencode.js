// Written by loci setup, which replaces or removes this file: change nothing here.
// It reports prompts and answers of opencode to Loci, never tools, files or reasoning. Versions 1 and 2 of opencode both
// load it: version 1 calls server, version 2 calls setup.
import { spawn, spawnSync } from 'node:child_process'

const command = ["<command>", "<args>"]

const maxKept = 200
const started = new Set() // sessions of a person that were reported
const children = new Set() // sessions of subagents, whose prompts an agent wrote
const answers = new Map() // the parts of an answer by its message, until it is complete

function prompt(session, id, cwd, text) {
  if (!text || children.has(session)) return
  if (!started.has(session)) {
    remember(started, session)
    deliver({ type: 'session.start', session, cwd })
  }
  deliver({ type: 'prompt', session, id, cwd, text })
}

function answer(session, id, cwd) {
  const text = textOf([...(answers.get(id)?.values() ?? [])])
  answers.delete(id)
  if (text && started.has(session)) deliver({ type: 'response', session, id, cwd, text })
}

// part keeps a part of an answer. A part that comes again replaces the first.
function part(message, id, value) {
  if (!answers.has(message)) bound(answers)
  answers.set(message, (answers.get(message) ?? new Map()).set(id, value))
}

function ended(session, cwd) {
  children.delete(session)
  if (started.delete(session)) deliver({ type: 'session.end', session, cwd })
}

function remember(set, value) {
  bound(set)
  set.add(value)
}

// bound makes room for one more.
function bound(kept) {
  while (kept.size >= maxKept) kept.delete(kept.keys().next().value)
}

// event handles an event of version 1.
function event({ type, properties: p }, cwd) {
  switch (type) {
    case 'session.created':
      if (p.info?.parentID) remember(children, p.info.id)
      break
    case 'message.part.updated':
      if (p.part.type === 'text' && p.part.time?.end) part(p.part.messageID, p.part.id, p.part)
      break
    case 'message.updated': // with a tool call, the answer is not the last one of its turn
      if (p.info.role !== 'assistant' || !p.info.time?.completed) break
      if (p.info.finish === 'tool-calls') answers.delete(p.info.id)
      else answer(p.info.sessionID, p.info.id, cwd)
      break
    case 'session.deleted':
      ended(p.info?.id ?? p.sessionID, cwd)
  }
}

async function server({ directory }) {
  return {
    'chat.message': quiet((input, { message, parts }) => prompt(message.sessionID, message.id, directory, textOf(parts))),
    event: quiet((input) => event(input.event, directory)),
    dispose: quiet(flush),
  }
}

// eventOf2 handles an event of version 2.
function eventOf2({ type, data }, cwd) {
  switch (type) {
    case 'session.text.ended':
      if (started.has(data.sessionID)) part(data.assistantMessageID, data.ordinal, { type: 'text', text: data.text })
      break
    case 'session.step.ended':
      if (data.finish === 'tool-calls') answers.delete(data.assistantMessageID)
      else answer(data.sessionID, data.assistantMessageID, cwd)
      break
    case 'session.deleted':
      ended(data.sessionID, cwd)
  }
}

async function setup(context) {
  const cwd = context.location?.directory
  await context.session.hook('prompt', quiet(async ({ sessionID, messageID, prompt: { text } }) => {
    const session = started.has(sessionID) ? undefined : await context.session.get({ sessionID })
    if (session?.parentID) remember(children, sessionID)
    prompt(sessionID, messageID, cwd, textOf(text))
  }))
  const events = context.event.subscribe()[Symbol.asyncIterator]()
  const follow = quiet(async () => {
    for (let next = await events.next(); !next.done; next = await events.next()) {
      await quiet(eventOf2)(next.value, cwd)
    }
  })
  follow()
  return quiet(async () => {
    events.return?.()
    await flush()
  })
}

export default { id: 'loci', server, setup }
