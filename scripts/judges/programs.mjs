// Judges Loci by real client programs, each with an empty home, a model of the judges' own, and a person in place of
// the browser: it is connected by loci setup, signs in, stores a memory, does so again after a restart of the server and
// after the access token has expired, and is disconnected. Its first prompt runs with the permissions that it has by
// default: the program stores the memory, or refuses because it waits for a rule of the person (permit in the list). The entry of loci setup must equal that of the program's own
// command, and what it leaves must equal what was there.
//
//   node scripts/judges/programs.mjs BINARY [NAME...]     (all: every program; without a name those of CI)
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Home } from './home.mjs'
import { Model } from './model.mjs'
import { permitted, programs } from './program-list.mjs'
import { Server } from './server.mjs'

class Judge {
  faults = []

  constructor(name, binary) {
    Object.assign(this, { name, binary, program: programs[name] })
  }

  check(good, what) {
    if (!good) this.faults.push(what)
    return good
  }

  async run() {
    this.server = await Server.start(this.binary)
    this.model = await Model.start()
    this.home = new Home(this.program, this.server, this.model)
    try {
      await this.walk()
    } catch (error) {
      this.faults.push(error.stack)
    } finally {
      if (this.faults.length) this.explain()
      this.model.stop()
      await this.server.stop()
      this.home.remove()
    }
    return this.faults
  }

  async walk() {
    if (this.program.prepare) await this.home.run(this.program.prepare(this.model.url))
    const before = this.home.config
    if (this.program.add) await this.wire()
    if (this.program.signIn) await this.signIn()
    await this.byDefault()
    await this.remember('connects', 'wisteria')
    await this.server.restart()
    await this.remember('restart', 'gardenia')
    if (this.program.signIn) {
      await this.server.restart('61m')
      await this.remember('refresh', 'camellia')
      this.check(this.seen({ form: 'refresh_token', status: 200 }) >= 1, 'it did not refresh')
      this.check(this.seen({ form: 'authorization_code', status: 200 }) === 1, 'it asked the person more than once')
      this.check((await this.server.call('GET', '/v1/grants')).grants.length === 1, 'there is not one grant')
    }
    if (this.program.add) await this.unwire(before)
  }

  // forget ends the grants, and begins to count anew.
  async forget() {
    for (const grant of (await this.server.call('GET', '/v1/grants')).grants) await this.server.call('DELETE', `/v1/grants/${grant.id}`)
    this.since = this.server.exchanges.length
  }

  seen(fields) {
    return this.server.seen(fields, this.since)
  }

  // setup runs loci setup for this program.
  setup(...args) {
    const command = [this.binary, 'setup', this.program.setup ?? this.name, ...args]
    return this.home.run(command)
  }

  async wire() {
    const own = new Home(this.program, this.server, this.model)
    const added = await own.run(this.program.add(`${this.server.url}/mcp`, this.binary))
    const theirs = this.program.entry(own.config)
    this.check(added.code === 0 && theirs, `its own command failed: ${added.out}`)
    own.remove()
    await this.forget() // Codex signs in as soon as it is told of a server
    const done = await this.setup('--server', this.server.url, ...(this.program.setupArgs ?? []),
      ...(this.program.signIn ? [] : ['--key-env', 'LOCI_API_KEY']))
    this.check(done.code === 0, `loci setup failed: ${done.out}`)
    const ours = this.program.entry(this.home.config)
    this.check(JSON.stringify(ours) === JSON.stringify(theirs), `the entries differ: ${JSON.stringify(ours)}, its own is ${JSON.stringify(theirs)}`)
  }

  async unwire(before) {
    const text = this.home.config
    const done = await this.setup('--remove')
    this.check(done.code === 0 && !this.program.entry(this.home.config), `loci setup --remove failed: ${done.out}`)
    if (this.program.keepsFile) this.check(this.home.config === before, `something is left: ${this.home.config}\nof ${text}`)
  }

  async signIn() {
    const done = await this.home.run(this.program.signIn(`${this.server.url}/mcp`, this.binary), { terminal: true })
    this.check(done.code === 0, `the sign-in ended with ${done.code}: ${done.out}`)
    this.check(this.seen({ form: 'authorization_code', status: 200 }) === 1, `no sign-in: ${done.out}`)
  }

  // byDefault asks the program to store a word without a permission. A program that waits for one reads the list of
  // tools, but hides them from its model (Gemini CLI) or refuses the call, and stores nothing. Any other one stores it.
  async byDefault() {
    if (!this.program.permit) return this.remember('default permissions', 'magnolia', this.program.prompt)
    const began = this.server.exchanges.length
    const done = await this.home.run(this.program.prompt('remember: magnolia', `${this.server.url}/mcp`))
    this.check(this.server.seen({ call: 'tools/list' }, began), `default permissions: it did not list the tools: ${done.out}`)
    this.check(!(await this.server.memories('magnolia')).length, 'default permissions: it stores by default, so the list needs no permit for it')
  }

  // remember lets the program store a word, and looks for it in the place that the person ticked.
  async remember(phase, flower, command = (...args) => permitted(this.program, ...args)) {
    const word = flower + this.name.replace(/\W/g, '')
    const done = await this.home.run(command(`remember: ${word}`, `${this.server.url}/mcp`))
    const [memory] = await this.server.memories(word)
    if (!this.check(memory, `${phase}: nothing was stored: ${done.out}`)) return
    const want = this.program.signIn ? this.server.team : this.server.personal
    this.check(memory.workspaceId === want, `${phase}: stored in ${memory.workspaceId}, not in ${want}`)
  }

  explain() {
    const line = (e) => `${e.status} ${e.method} ${e.path} ${e.calls.join()} ${e.form ?? ''} ${e.challenge ?? ''}`
    this.faults.push(`the wire: ${this.server.exchanges.map(line).join('\n    ')}`)
    if (existsSync(this.home.log)) this.faults.push(`the person: ${readFileSync(this.home.log, 'utf8')}`)
    const asked = this.model.requests.map((r) => `${r.path} ${r.asks?.tools.length ?? ''} ${JSON.stringify(r.turn ?? r.error ?? '')}`)
    this.faults.push(`the model: ${asked.join('\n    ')}`, `the server: ${this.server.logs.slice(-1000)}`)
  }
}

const [given, ...asked] = process.argv.slice(2)
const binary = given && resolve(given) // programs run elsewhere
const all = Object.keys(programs).filter((name) => programs[name].config) // of others hooks alone are judged
const names = asked.length === 0 ? all.filter((name) => programs[name].ci) : asked[0] === 'all' ? all : asked
if (!binary || names.some((name) => !programs[name])) {
  console.error(`usage: programs.mjs BINARY [all | NAME...]; the names are ${all.join(', ')}`)
  process.exit(2)
}
let failures = 0
for (const name of names) {
  const judge = new Judge(name, binary)
  const began = Date.now()
  const missing = !existsSync(programs[name].needs)
  const faults = missing ? [`${programs[name].needs} is missing: run scripts/setup or make clients`] : await judge.run()
  failures += faults.length
  const unasked = programs[name].permit ? 'waits for a permission by default' : 'stores by default'
  const done = `${unasked}, ${programs[name].signIn ? 'signs in, stores, survives a restart, refreshes' : 'stores by a key, survives a restart'}`
  console.log(`programs: ${name}: ${faults.length ? faults.join('\n  ') : done} (${Math.round((Date.now() - began) / 1000)} s)`)
}
process.exit(failures || !names.length ? 1 : 0)
