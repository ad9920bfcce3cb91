// Judges the streams of agents by four clients that listen beside each other, while the server is killed in mid-send:
// npm eventsource, Go tmaxmax/go-sse, Python httpx-sse and loci agent listen. Each must get every acknowledged message,
// in order.
//
//   node scripts/judges/streams.mjs BINARY [KILLS]
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { EventSource } from 'eventsource'
import { Server, email, pause, until } from './server.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const binary = process.argv[2] && resolve(process.argv[2])
const kills = Number(process.argv[3] ?? 10)
if (!binary || !(kills > 0)) {
  console.error('usage: streams.mjs BINARY [KILLS]')
  process.exit(2)
}

const work = mkdtempSync(join(tmpdir(), 'loci-streams-'))
execFileSync('go', ['build', '-o', join(work, 'go-sse'), '.'], { cwd: join(here, 'streams/go'), stdio: 'inherit' })
const server = await Server.start(binary, { LOCI_RATE_LIMIT: '0' })
const newKey = () => server.admin(['key', 'create', '--email', email]).apiKey
const agent = { 'X-Loci-Actor': 'agent' }
const children = []

// A listener is {name, got}: the ids in the order of their arrival. A message may come twice.
const listeners = [
  ...[
    ['go-sse', (key) => [join(work, 'go-sse'), server.url, key]],
    ['httpx-sse', (key) => [join(here, 'sdks/.venv/1/bin/python'), join(here, 'streams/listen.py'), server.url, key]],
    ['loci agent listen', (key) => [binary, 'agent', 'listen'], (line) => JSON.parse(line).id],
  ].map(([name, command, id = (line) => line]) => {
    const listener = { name, got: [] }
    const key = newKey()
    const [program, ...args] = command(key)
    const child = spawn(program, args, { env: { ...process.env, HOME: work, LOCI_URL: server.url, LOCI_API_KEY: key, PYTHONDONTWRITEBYTECODE: '1' },
      stdio: ['ignore', 'pipe', 'pipe'] })
    children.push(child)
    child.stderr.on('data', (part) => { listener.complaints = (listener.complaints ?? '') + part })
    createInterface({ input: child.stdout }).on('line', (line) => listener.got.push(id(line)))
    return listener
  }),
  eventsource(),
]

function eventsource() {
  const listener = { name: 'eventsource', got: [] }
  const headers = { ...agent, Authorization: `Bearer ${newKey()}` }
  const source = new EventSource(`${server.url}/v1/agent-messages/events`, {
    fetch: async (url, init) => {
      const response = await fetch(url, { ...init, headers: { ...init.headers, ...headers } })
      if (response.status < 500) return response
      throw new TypeError(`status ${response.status}`) // a proxy without its server: the library tries again only after a lost connection
    },
  })
  source.addEventListener('ready', (event) => listener.got.push(...JSON.parse(event.data).unread.map((message) => message.id)))
  source.addEventListener('message.created', (event) => listener.got.push(JSON.parse(event.data).message.id))
  listener.close = () => source.close()
  return listener
}

// send sends a broadcast until the server acknowledges it.
const sent = []
async function send(n) {
  for (;;) {
    try {
      const answer = await fetch(`${server.url}/v1/agent-messages`, { method: 'POST', signal: AbortSignal.timeout(20_000),
        headers: { ...agent, Authorization: `Bearer ${server.key}`, 'Content-Type': 'application/json', 'Idempotency-Key': `n${n}` },
        body: JSON.stringify({ broadcast: true, content: `message ${n}\nline\r\n\u2028 ${'x'.repeat((n * 997) % 20_000)}` }) })
      if (answer.status === 201) {
        const { message, recipients } = await answer.json()
        return sent.push({ id: message.id, recipients: recipients.length })
      }
      if (answer.status < 500) throw new Error(`send: ${answer.status} ${await answer.text()}`)
    } catch (error) {
      if (String(error).startsWith('Error: send')) throw error
    }
    await pause(100)
  }
}

const faults = []
try {
  // every agent exists once its stream is open
  await until(async () => (await server.call('GET', `/v1/agents?workspace_id=${server.personal}`)).agents.length === 4, 'the agents', 30)
  let done = false
  const gap = kills > 50 ? 60 : 0 // an inbox has room for 10,000 messages
  const sending = (async () => { for (let n = 0; !done; n++) { await send(n); await pause(gap) } })()
  for (let n = 0; n < kills; n++) {
    await pause(200 + Math.random() * 1500)
    server.child.kill('SIGKILL')
    await server.ended
    await pause(Math.random() * 300)
    await server.up()
  }
  done = true
  await sending
  for (const { name, got, complaints } of listeners) {
    const missing = () => sent.filter(({ id }) => !got.includes(id))
    await until(() => missing().length === 0, `all messages at ${name}`, 60).catch(() => {
      faults.push(`${name} lacks ${missing().length} of ${sent.length} messages: ${complaints ?? ''}`)
    })
    const firsts = [...new Set(got)]
    const order = sent.map(({ id }) => id).filter((id) => firsts.includes(id))
    if (JSON.stringify(firsts.filter((id) => order.includes(id))) !== JSON.stringify(order)) faults.push(`${name} got messages in another order`)
    if (name === 'loci agent listen' && firsts.length !== got.length) faults.push(`${name} printed ${got.length - firsts.length} messages twice`)
  }
  if (sent.some(({ recipients }) => recipients !== 4)) faults.push('a broadcast did not reach all four')
} catch (error) {
  faults.push(error.stack)
} finally {
  for (const child of children) child.kill()
  for (const listener of listeners) listener.close?.()
  await server.stop().catch(() => {})
  rmSync(work, { recursive: true, force: true })
}
for (const fault of faults) console.log(`streams: ${fault}`)
console.log(`streams: ${sent.length} messages, ${kills} kills, 4 clients, ${faults.length} failed`)
process.exit(faults.length ? 1 : 0)
