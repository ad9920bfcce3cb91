// Plays recorded events to a plugin of loci setup, as its program does.
//
//   node host.mjs FORM PLUGIN EVENTS RELEASE     FORM: opencode1, opencode2 or pi
//
// The command runs until the file RELEASE exists, so a handler that waited for the command would never return.
import { readFileSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const [form, plugin, events, released] = process.argv.slice(2)
const { default: loaded } = await import(pathToFileURL(plugin))
const records = readFileSync(events, 'utf8').trim().split('\n').map((line) => JSON.parse(line))

const release = () => writeFileSync(released, '')

// quick runs a handler while the command runs. It fails where the handler answers.
async function quick(name, handler) {
  const answer = await handler()
  if (answer !== undefined) throw new Error(`${name} answers ${JSON.stringify(answer)}`)
}

const forms = {
  async opencode1() {
    const hooks = await loaded.server({ directory: '/home/ann/proj' })
    for (const { k, v } of records) {
      if (k === 'event') await quick(v.type, () => hooks.event({ event: v }))
      if (k === 'chat.message') await quick(k, () => hooks['chat.message'](v.i, v.o))
    }
    for (const broken of [undefined, {}, { event: {} }, { event: { type: 'message.updated' } }]) await hooks.event(broken)
    await hooks['chat.message']()
    release()
    await hooks.dispose()
  },

  async opencode2() {
    const waiting = []
    let prompt, wake
    const cleanup = await loaded.setup({
      location: { directory: '/home/ann/proj' },
      session: {
        hook: async (name, handler) => { if (name === 'prompt') prompt = handler },
        get: async ({ sessionID }) => ({ id: sessionID, parentID: sessionID === 'ses_sub' ? 'ses_1' : undefined }),
      },
      event: {
        async* subscribe() {
          for (;;) {
            while (waiting.length) yield waiting.shift()
            await new Promise((resolve) => { wake = resolve })
          }
        },
      },
    })
    for (const { k, v } of records) {
      if (k === 'prompt') await quick(k, () => prompt(v))
      else {
        waiting.push(v)
        wake?.()
      }
    }
    await prompt({})
    waiting.push({}, { type: 'session.deleted' })
    wake()
    await new Promise((resolve) => setTimeout(resolve, 50))
    release()
    await cleanup()
  },

  async pi() {
    const handlers = {}
    loaded({ on: (name, handler) => { handlers[name] = handler } })
    for (const { e, event, extra } of records) {
      const context = { cwd: extra.cwd, sessionManager: { getSessionId: () => extra.sessionId } }
      const end = e === 'session_shutdown' // it waits for what is not delivered yet
      if (end) release()
      if (handlers[e]) await (end ? handlers[e](event, context) : quick(e, () => handlers[e](event, context)))
    }
    for (const handler of Object.values(handlers)) await handler({}, {})
  },
}

await forms[form]()
