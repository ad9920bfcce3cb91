// Judges Loci by the official SDKs as clients with their OAuth flows. Each connects without a token, is challenged,
// registers, lets a person sign in and consent, and stores and reads a memory: at first, after a restart of the server,
// and after the access token has expired. It asks the person once.
//
//   node scripts/judges/sdks.mjs BINARY [NAME...]
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Server, email, password } from './server.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const work = mkdtempSync(join(tmpdir(), 'loci-sdks-'))
const python = (version) => [join(here, `sdks/.venv/${version}/bin/python`), join(here, 'sdks/python.py')]

const clients = {
  'typescript 1': [process.execPath, join(here, 'sdks/typescript.mjs'), '@modelcontextprotocol/sdk'],
  'typescript 2': [process.execPath, join(here, 'sdks/typescript.mjs'), '@modelcontextprotocol/client'],
  'python 1': python(1),
  'python 2': python(2),
  go: [join(work, 'go')],
}

// A Client is a process that reads a word and answers with a line of JSON.
class Client {
  constructor(command, server) {
    const env = { ...process.env, LOCI_PERSON_EMAIL: email, LOCI_PERSON_PASSWORD: password, LOCI_PERSON_WORKSPACES: server.team,
      LOCI_PERSON_NODE: process.execPath, LOCI_PERSON: join(here, 'person.mjs'), PYTHONDONTWRITEBYTECODE: '1' }
    this.child = spawn(command[0], [...command.slice(1), `${server.url}/mcp`], { env, stdio: ['pipe', 'pipe', 'pipe'] })
    this.complaints = ''
    this.child.stderr.on('data', (part) => { this.complaints += part })
    this.child.stdin.on('error', () => {})
    this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]()
  }

  async say(word) {
    this.child.stdin.write(word + '\n')
    const timer = setTimeout(() => this.child.kill(), 60_000)
    const { value } = await this.lines.next()
    clearTimeout(timer)
    if (!value) throw new Error(`the client ended: ${this.complaints.slice(-3000)}`)
    return JSON.parse(value)
  }

  stop() {
    this.child.kill()
  }
}

const phases = [
  ['connects', 'oleander', (server) => server],
  ['survives a restart', 'magnolia', (server) => server.restart()],
  ['refreshes', 'expired:hyacinth', (server) => server.restart('61m')],
]

async function judge(name, server) {
  const faults = []
  const check = (good, what) => good || faults.push(what)
  const begun = server.exchanges.length
  const client = new Client(clients[name], server)
  try {
    for (const [phase, line, before] of phases) {
      const word = `${line.split(':').at(-1)}${name.replace(' ', '')}`
      await before(server)
      const answer = await client.say(line.includes(':') ? `expired:${word}` : word)
      check(answer.tools >= 30, `${phase}: ${answer.tools} tools`)
      check(answer.content === `The SDK remembers ${word}.`, `${phase}: it read ${answer.content}`)
      check(answer.authorizations === 1, `${phase}: it asked the person ${answer.authorizations} times`)
      const [stored] = await server.memories(word)
      check(stored?.workspaceId === server.team, `${phase}: stored in ${stored?.workspaceId}, not in the ticked ${server.team}`)
    }
  } finally {
    client.stop()
  }
  const seen = (fields) => server.seen(fields, begun)
  const challenge = server.exchanges.slice(begun).find((e) => e.path === '/mcp' && e.status === 401)?.challenge ?? 'none'
  check(challenge.includes(`resource_metadata="${server.url}/.well-known/oauth-protected-resource/mcp"`), `the challenge is ${challenge}`)
  check(seen({ path: '/oauth/register', status: 201 }) === 1, 'it did not register once')
  check(seen({ form: 'authorization_code', status: 200 }) === 1, 'it did not redeem one code')
  check(seen({ form: 'refresh_token', status: 200 }) >= 1, 'it did not refresh')
  const grants = (await server.call('GET', '/v1/grants')).grants
  check(grants.length === 1, `${grants.length} grants`)
  for (const grant of grants) await server.call('DELETE', `/v1/grants/${grant.id}`)
  return faults
}

const [binary, ...names] = process.argv.slice(2)
if (!binary || names.some((name) => !clients[name])) {
  console.error(`usage: sdks.mjs BINARY [NAME...]; the names are ${Object.keys(clients).join(', ')}`)
  process.exit(2)
}
let failures = 0
try {
  execFileSync('go', ['build', '-o', join(work, 'go'), '.'], { cwd: join(here, 'sdks/go'), stdio: 'inherit' })
  await Promise.all((names.length ? names : Object.keys(clients)).map(async (name) => {
    const server = await Server.start(binary)
    const faults = await judge(name, server).catch((error) => [`${error.message}\n${server.logs.slice(-2000)}`])
    failures += faults.length
    console.log(`sdks: ${name}: ${faults.length ? faults.join('\n  ') : 'connects, survives a restart, refreshes'}`)
    await server.stop()
  }))
} finally {
  rmSync(work, { recursive: true, force: true })
}
process.exit(failures ? 1 : 0)
