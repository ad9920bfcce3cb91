// Judges a rolling restart: three servers on one PostgreSQL behind nginx, and behind Caddy, by the configurations of the
// documentation. Clients write, read, search and call tools while the servers restart one after another. No call may
// fail, and each acknowledged memory must be there once.
//
//   node scripts/judges/roll.mjs BINARY POSTGRES [nginx|caddy]...     (POSTGRES: a URL; the judge makes databases beside it)
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { blocks, changed, daemon, find, listens, must, startCaddy, startNginx } from './files/tools.mjs'
import { freePort, pause, until } from './server.mjs'

const [binary, postgres, ...rest] = process.argv.slice(2)
const proxies = { nginx, caddy }
const parts = rest.length ? rest : Object.keys(proxies)
if (!binary || !postgres || parts.some((part) => !proxies[part])) {
  console.error('usage: roll.mjs BINARY POSTGRES [nginx|caddy]...')
  process.exit(2)
}
process.setMaxListeners(0) // each program ends with the judge
const work = mkdtempSync(join(tmpdir(), 'loci-roll-'))
const hosts = ['127.0.0.11', '127.0.0.12', '127.0.0.13'] // Linux has all of 127.0.0.0/8
const rounds = 2
const clients = 8
const faults = []

// A Node is one of the servers.
class Node {
  constructor(name, host, ports, env) { Object.assign(this, { name, host, ports, env }) }

  get data() { return join(work, this.name) }

  async up() {
    const args = ['serve', '--data', this.data, '--listen', `${this.host}:${this.ports.api}`, '--metrics-listen', `${this.host}:${this.ports.metrics}`]
    this.child = daemon(resolve(binary), args, this.env)
    await until(async () => {
      if (this.child.exitCode !== null) throw new Error(`${this.name} ended with ${this.child.exitCode}: ${this.child.log}`)
      return (await fetch(`http://${this.host}:${this.ports.metrics}/ready`).catch(() => undefined))?.ok
    }, `${this.name} to be ready`, 60)
  }

  async down() {
    this.child.kill()
    await this.child.ended
    if (this.child.exitCode !== 0) faults.push(`${this.name} ended with ${this.child.exitCode}: ${this.child.log}`)
  }
}

// nginx and caddy start a proxy on a port of loopback, and return its process.
function nginx(port, ports, folder) {
  const [site, upstream] = blocks('self-hosting.md', 'nginx')
  const server = changed(site, { 'listen 443 ssl;': `listen 127.0.0.1:${port};`, '127.0.0.1:7007': 'loci', 'ssl_certificate /etc/ssl/loci.crt;': '',
    'ssl_certificate_key /etc/ssl/loci.key;': '' })
  return startNginx(`${changed(upstream, onLoopback(ports))}\n${server}`, folder)
}

function caddy(port, ports, folder) {
  const site = changed(blocks('self-hosting.md', 'caddyfile')[1], { 'loci.example.org {': `http://127.0.0.1:${port} {\n    bind 127.0.0.1`,
    'health_port 7008': `health_port ${ports.metrics}`, ...onLoopback(ports) })
  return startCaddy(site, folder)
}

// onLoopback maps the addresses of the documentation to those of the judge.
const onLoopback = (ports) => Object.fromEntries(hosts.map((host, i) => [`10.0.0.1${i + 1}:7007`, `${host}:${ports.api}`]))

// send sends one request, and returns the value of its answer. A client keeps its connection to the proxy.
function send(agent, url, key, method, path, body) {
  return new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }
    const sent = request(url + path, { agent, method, headers }, (answer) => {
      const chunks = []
      answer.on('data', (chunk) => chunks.push(chunk))
      answer.on('error', reject)
      answer.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        if (answer.statusCode !== 200 && answer.statusCode !== 201) reject(new Error(`${answer.statusCode}: ${text.slice(0, 300)}`))
        else resolve(JSON.parse(text))
      })
    })
    sent.on('error', reject)
    sent.end(body && JSON.stringify(body))
  })
}

// client calls until the roll is over, and remembers what was acknowledged.
async function client(n, url, key, state) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  for (let i = 0; !state.over; i++) {
    const content = `client ${n} writes note ${i}`
    const called = async (what, ...args) => {
      state.calls++
      try {
        return await send(agent, url, key, ...args)
      } catch (error) {
        faults.push(`${state.part}: ${what} while ${state.at}: ${error.message}`)
      }
    }
    const made = await called('a create', 'POST', '/v1/memories', { content })
    if (made) {
      state.written.push(content)
      const read = await called('a get', 'GET', `/v1/memories/${made.memory.id}`)
      if (read && (read.memory ?? read).content !== content) faults.push(`${state.part}: a get returns ${JSON.stringify(read)}`)
    }
    await called('a search', 'POST', '/v1/memories/search', { query: content, mode: 'keyword', limit: 3 })
    await called('a tool', 'POST', '/mcp', { jsonrpc: '2.0', id: i, method: 'tools/call', params: { name: 'memory_search', arguments: { query: content, mode: 'keyword' } } })
  }
  agent.destroy()
}

async function roll(part) {
  const database = `roll_${part}_${process.pid}`
  await must('psql', [postgres, '-qX', '-c', `CREATE DATABASE ${database}`])
  const address = new URL(postgres)
  address.pathname = '/' + database
  const [port, ports] = [await freePort(), { api: await freePort(), metrics: await freePort() }]
  const url = `http://127.0.0.1:${port}`
  const env = { LOCI_DB: address.href, LOCI_PUBLIC_URL: url, LOCI_TRUSTED_PROXIES: '127.0.0.1', LOCI_RATE_LIMIT: '0', LOCI_LOG_LEVEL: 'warn', LOCI_DRAIN: '2s',
    LOCI_BLOBS: undefined }
  const nodes = hosts.map((host, i) => new Node(`${part}-${i + 1}`, host, ports, env))
  const admin = async (...args) => JSON.parse(await must(resolve(binary), ['admin', ...args, '--json', '--data', nodes[0].data], { env }))
  await admin('user', 'create', '--email', 'ann@example.com')
  const key = (await admin('key', 'create', '--email', 'ann@example.com')).apiKey
  const folder = join(work, `${part}-proxy`)
  mkdirSync(folder)
  let proxy
  try {
    await Promise.all(nodes.map((node) => node.up()))
    proxy = proxies[part](port, ports, folder)
    await listens(port, part, proxy)
    await until(async () => (await fetch(`${url}/health`)).ok, `${part} to answer`)
    const state = { part, calls: 0, written: [], at: 'nothing restarts', over: false }
    const running = Array.from({ length: clients }, (_, n) => client(n, url, key, state))
    for (let round = 0; round < rounds; round++) {
      for (const node of nodes) {
        await pause(500)
        state.at = `${node.name} restarts`
        await node.down()
        await node.up()
      }
    }
    await pause(500)
    state.over = true
    await Promise.all(running)
    const stored = await must('psql', [address.href, '-XAt', '-c', `SELECT content FROM memories WHERE content LIKE 'client %'`])
    const found = stored.toString().trimEnd().split('\n').sort()
    const expected = [...state.written].sort()
    if (JSON.stringify(found) !== JSON.stringify(expected)) faults.push(`${part}: ${expected.length} memories were acknowledged, and ${found.length} are stored`)
    if (state.calls < 100) faults.push(`${part}: only ${state.calls} calls were made`)
    console.log(`roll: ${part}: ${state.calls} calls, ${state.written.length} memories, ${rounds * nodes.length} restarts`)
  } finally {
    for (const child of [proxy, ...nodes.map((node) => node.child)]) child?.kill()
    await Promise.all([proxy, ...nodes.map((node) => node.child)].map((child) => child?.ended))
    await must('psql', [postgres, '-qX', '-c', `DROP DATABASE IF EXISTS ${database} WITH (FORCE)`])
  }
}

try {
  for (const part of parts) {
    if (!find(part)) faults.push(`${part} is missing: run scripts/setup`)
    else await roll(part).catch((error) => faults.push(`${part}: ${error.stack}`))
  }
} finally {
  rmSync(work, { recursive: true, force: true })
}
for (const fault of faults.slice(0, 20)) console.log(`roll: ${fault}`)
console.log(`roll: ${faults.length} faults`)
process.exit(faults.length ? 1 : 0)
