// A server of Loci for the judges of clients: it runs behind a proxy on loopback, as the public address of the server
// is the proxy's. The proxy records what passes, and its address stays while the server restarts.
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const email = 'ann@example.com'
export const password = 'correct horse battery'

// listen starts a server on a free port of loopback, and returns the port.
export function listen(server, port = 0) {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve(server.address().port))
  })
}

// freePort returns a port of loopback on which nothing listens, and which the system gives to nobody who asks for any.
export async function freePort() {
  for (;;) {
    const server = createServer()
    const port = 10000 + Math.floor(Math.random() * 20000)
    const taken = await listen(server, port).catch((error) => error)
    if (taken !== port) continue
    await new Promise((resolve) => server.close(resolve))
    return port
  }
}

export const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds))

// until waits for a condition, and fails with its name after some seconds.
export async function until(condition, what, seconds = 30) {
  for (const end = Date.now() + seconds * 1000; Date.now() < end; await pause(50)) {
    const value = await condition()
    if (value) return value
  }
  throw new Error(`waited ${seconds} s for ${what}`)
}

export class Server {
  logs = '' // of every run
  exchanges = [] // of the proxy: {at, method, path, status, challenge, calls, form}
  folder = mkdtempSync(join(tmpdir(), 'loci-judge-'))
  #proxy = createServer((req, res) => this.#pass(req, res))

  // start makes a person with an API key and a team, and serves with these variables.
  static async start(binary, env = {}) {
    const server = new Server()
    process.once('exit', () => server.child?.kill()) // a judge that fails leaves no server
    server.binary = binary
    server.port = await freePort()
    server.url = `http://127.0.0.1:${await listen(server.#proxy)}`
    server.env = { ...process.env, HOME: server.folder, LOCI_PUBLIC_URL: server.url, LOCI_SIGNIN_LIMIT: '0', LOCI_LOG_LEVEL: 'warn', LOCI_DRAIN: '0', ...env }
    server.admin(['user', 'create', '--email', email, '--password-stdin'], password + '\n')
    server.key = server.admin(['key', 'create', '--email', email]).apiKey
    await server.up()
    server.personal = (await server.call('GET', '/v1/workspaces')).workspaces.find((w) => w.kind === 'personal').id
    server.team = (await server.call('POST', '/v1/workspaces', { name: 'Judges' })).workspace.id
    return server
  }

  admin(args, input = '') {
    const out = execFileSync(this.binary, ['admin', ...args, '--json', '--data', join(this.folder, 'data')], { input, env: this.env })
    return JSON.parse(out)
  }

  // up starts the program, its clock set forward by a Go duration.
  async up(offset = '0s') {
    const args = ['serve', '--data', join(this.folder, 'data'), '--listen', `127.0.0.1:${this.port}`]
    this.child = spawn(this.binary, args, { env: { ...this.env, LOCI_CLOCK_OFFSET: offset }, stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [this.child.stdout, this.child.stderr]) stream.on('data', (part) => { this.logs += part })
    this.ended = new Promise((resolve) => this.child.once('exit', resolve))
    const healthy = async () => {
      if (this.child.exitCode !== null) throw new Error(`the server ended with ${this.child.exitCode}: ${this.logs.slice(-2000)}`)
      return (await fetch(`http://127.0.0.1:${this.port}/health`).catch(() => undefined))?.ok
    }
    await until(healthy, 'the server')
  }

  async down() {
    this.child.kill()
    await this.ended
  }

  async restart(offset) {
    await this.down()
    await this.up(offset)
  }

  async stop() {
    await this.down()
    this.#proxy.closeAllConnections()
    this.#proxy.close()
    rmSync(this.folder, { recursive: true, force: true })
  }

  // call calls the REST API by the key of the person.
  async call(method, path, body) {
    const answer = await fetch(this.url + path, {
      method, headers: { Authorization: `Bearer ${this.key}`, 'Content-Type': 'application/json' }, body: body && JSON.stringify(body),
    })
    const value = await answer.json()
    if (!answer.ok) throw new Error(`${method} ${path} was answered with ${answer.status}: ${JSON.stringify(value)}`)
    return value
  }

  // memories returns the memories whose content holds a word.
  async memories(word) {
    const { memories } = await this.call('GET', '/v1/memories?limit=100')
    return memories.filter((memory) => memory.content.includes(word))
  }

  // seen counts the exchanges whose fields are equal to these; a field "call" looks for a method of JSON-RPC.
  seen({ call, ...fields }, since = 0) {
    const equal = (exchange) => Object.entries(fields).every(([name, value]) => exchange[name] === value)
    return this.exchanges.slice(since).filter((e) => equal(e) && (!call || e.calls.includes(call))).length
  }

  async #pass(req, res) {
    const parts = []
    for await (const part of req) parts.push(part)
    const body = Buffer.concat(parts)
    const exchange = { at: Date.now(), method: req.method, path: req.url.split('?')[0], ...read(req, body), agent: req.headers['user-agent'] }
    this.exchanges.push(exchange)
    const options = { host: '127.0.0.1', port: this.port, method: req.method, path: req.url, headers: req.headers, agent: false }
    const onward = request(options, (answer) => {
      exchange.status = answer.statusCode
      exchange.challenge = answer.headers['www-authenticate']
      res.writeHead(answer.statusCode, answer.rawHeaders)
      res.flushHeaders()
      answer.pipe(res)
      answer.on('error', () => res.destroy())
    })
    onward.on('error', () => {
      exchange.status = 502
      if (res.headersSent) res.destroy()
      else res.writeHead(502).end()
    })
    res.on('close', () => onward.destroy())
    onward.end(body)
  }
}

// read returns the methods of JSON-RPC and the grant type of a request's body.
function read(req, body) {
  const type = req.headers['content-type'] ?? ''
  try {
    if (type.includes('json')) return { calls: [JSON.parse(body)].flat().map((message) => message.method), form: undefined }
  } catch {}
  return { calls: [], form: type.includes('form') ? new URLSearchParams(body.toString()).get('grant_type') ?? undefined : undefined }
}
