// Judges loci acp by real agents of the Agent Client Protocol, each with an empty home and a model of the judges' own:
// a session is opened and prompted directly and behind loci acp. Both sides of the relay must have the same bytes in
// both directions, every message must be valid by the schema of version 1, and the prompt must become one candidate.
//
//   node scripts/judges/acp.mjs BINARY [NAME...]
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import Ajv2020 from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { Model } from './model.mjs'
import { programs } from './program-list.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const schemaFile = process.env.ACP_SCHEMA ?? join(here, '../../../shared/data/schemas/acp-schema-v1-schema.json')
const clients = process.env.ACP_CLIENTS ?? join(here, 'clients/node_modules')
const agents = {
  claude: { ...programs.claude, needs: join(clients, '@agentclientprotocol/claude-agent-acp/dist/index.js') },
  opencode: { ...programs.opencode, needs: join(clients, '.bin/opencode'), args: ['acp'] },
}
const prompt = 'We decided: staging runs on basalt from now on.'
const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex')

// A Conversation is one run of an agent with its streams, as the client sees them.
class Conversation {
  sent = []
  received = []
  answers = new Map()

  constructor(command, home) {
    this.child = spawn(command[0], command.slice(1), { env: home.env, cwd: home.work, stdio: ['pipe', 'pipe', 'ignore'] })
    this.child.stdout.on('data', (part) => this.received.push(part))
    createInterface({ input: this.child.stdout }).on('line', (line) => this.#read(line))
    this.ended = new Promise((done) => this.child.once('close', (code) => done(code)))
  }

  #read(line) {
    const m = JSON.parse(line)
    if (m.method === undefined) this.answers.get(m.id)?.(m)
    else if (m.id !== undefined) this.#write({ jsonrpc: '2.0', id: m.id, error: { code: -32601, message: 'not offered' } })
  }

  #write(message) {
    const line = Buffer.from(JSON.stringify(message) + '\n')
    this.sent.push(line)
    this.child.stdin.write(line)
  }

  ask(id, method, params) {
    return new Promise((done, fail) => {
      const timer = setTimeout(() => fail(new Error(`no answer to ${method}`)), 60_000)
      this.answers.set(id, (m) => { clearTimeout(timer); m.error ? fail(new Error(`${method}: ${JSON.stringify(m.error)}`)) : done(m.result) })
      this.#write({ jsonrpc: '2.0', id, method, params })
    })
  }

  async run(cwd) {
    try {
      await this.ask(0, 'initialize', { protocolVersion: 1, clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false } })
      const { sessionId } = await this.ask(1, 'session/new', { cwd, mcpServers: [] })
      const { stopReason } = await this.ask(2, 'session/prompt', { sessionId, prompt: [{ type: 'text', text: prompt }] })
      this.child.stdin.end()
      const late = setTimeout(() => this.child.kill(), 5_000) // not every agent ends with its input
      await this.ended
      clearTimeout(late)
      return stopReason
    } finally {
      this.child.kill()
    }
  }
}

// validator returns a function that lists what the schema finds in the messages of both streams.
function validator() {
  if (!existsSync(schemaFile)) return console.log(`${schemaFile} is absent: messages are not validated`), () => []
  const schema = JSON.parse(readFileSync(schemaFile, 'utf8'))
  const ajv = addFormats(new Ajv2020({ strict: false, allErrors: false, validateFormats: false }))
  ajv.addSchema({ ...schema, $id: 'acp' })
  const of = (method, ...ends) => Object.entries(schema.$defs).find(([name, d]) => d['x-method'] === method && ends.some((end) => name.endsWith(end)))?.[0]
  const check = (name, value) => {
    const valid = name ? ajv.getSchema(`acp#/$defs/${name}`) : () => true // an extension
    return valid(value ?? {}) ? [] : [`${name}: ${ajv.errorsText(valid.errors)}: ${JSON.stringify(value).slice(0, 300)}`]
  }
  return (sent, received) => {
    const methods = new Map()
    return [[sent, true], [received, false]].flatMap(([lines, ours]) => Buffer.concat(lines).toString().split('\n').filter(Boolean).flatMap((line) => {
      const m = JSON.parse(line)
      if (m.method) {
        if (m.id !== undefined && ours) methods.set(m.id, m.method)
        return check(of(m.method, 'Request', 'Notification'), m.params)
      }
      return ours || m.error ? [] : check(of(methods.get(m.id), 'Response'), m.result)
    }))
  }
}

async function judge(name, binary, model, invalid) {
  const agent = agents[name]
  const folder = mkdtempSync(join(tmpdir(), 'loci-acp-'))
  const home = { work: join(folder, 'work'), env: { PATH: `${dirname(process.execPath)}:${process.env.PATH}`, HOME: folder, LANG: 'C.UTF-8', ...agent.env(model.url) } }
  mkdirSync(home.work)
  for (const [path, text] of Object.entries(agent.files?.(model.url) ?? {})) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  const loci = (...args) => spawnSync(binary, args, { env: home.env, encoding: 'utf8' }).stdout
  const command = [...(agent.needs.endsWith('.js') ? [process.execPath] : []), agent.needs, ...(agent.args ?? [])]
  const log = join(folder, 'log')
  const faults = []
  try {
    const direct = new Conversation(command, home)
    if (await direct.run(home.work) !== 'end_turn') faults.push('the direct turn has not ended')
    loci('auto', 'set', '--enabled')
    const relayed = new Conversation([binary, 'acp', '--', 'sh', '-c', 'tee "$0.in" | "$@" | tee "$0.out"', log, ...command], home)
    if (await relayed.run(home.work) !== 'end_turn') faults.push('the relayed turn has not ended')
    for (const [side, ours, file] of [['client', relayed.sent, '.in'], ['agent', relayed.received, '.out']]) {
      if (sha256(Buffer.concat(ours)) !== sha256(readFileSync(log + file))) faults.push(`the bytes of the ${side} differ`)
    }
    for (const c of [direct, relayed]) faults.push(...invalid(c.sent, c.received))
    const { candidates } = JSON.parse(loci('session', 'candidates', '--json'))
    const drawn = candidates.map((c) => c.content ?? c.title)
    if (drawn.length !== 1 || !drawn[0].includes('basalt')) faults.push(`candidates: ${JSON.stringify(drawn)}`)
  } catch (error) {
    faults.push(String(error))
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  return faults
}

const [binary, ...names] = process.argv.slice(2)
const model = await Model.start(0)
const invalid = validator()
for (const name of names.length ? names : Object.keys(agents)) {
  if (!existsSync(agents[name].needs)) {
    console.log(`${name}: ${agents[name].needs} is not installed`)
    continue
  }
  const faults = await judge(name, resolve(binary), model, invalid)
  console.log(`${name}: ${faults.length ? faults.join('\n  ') : 'ok'}`)
  if (faults.length) process.exitCode = 1
}
model.stop()
