// Judges automatic memory by real client programs, each with an empty home and a model of the judges' own: loci setup
// --hooks wires it, a person decides something in a prompt, and the program's hooks must bring prompt and answer to loci
// hook and one candidate to the server, the same one for all programs. --remove must restore every file; then a turn
// brings nothing.
//
//   node scripts/judges/hooks.mjs BINARY [all | NAME...]     (all: every program; without a name those of CI)
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Home } from './home.mjs'
import { Model } from './model.mjs'
import { permitted, programs } from './program-list.mjs'
import { Server, pause, until } from './server.mjs'

const decision = 'We decided: staging runs on basalt from now on.'
const answer = 'Good.' // of the model, where it remembers nothing

// A Recorder stands in the place of loci in a home: it keeps the input of each run, and passes it on.
class Recorder {
  constructor(folder, binary) {
    Object.assign(this, { folder, binary, path: join(folder, 'bin/loci'), records: join(folder, 'records') })
    for (const dir of ['bin', 'records']) mkdirSync(join(folder, dir), { recursive: true })
    copyFileSync(binary, this.path)
  }

  // start replaces the program, which has written its own path into the hooks.
  start() {
    renameSync(this.path, join(this.folder, 'bin/real'))
    writeFileSync(this.path, `#!/bin/sh
record=$(mktemp '${this.records}/XXXXXX')
cat > "$record"
exec '${this.folder}/bin/real' "$@" < "$record"
`)
    chmodSync(this.path, 0o755)
  }

  stop() {
    renameSync(join(this.folder, 'bin/real'), this.path)
  }

  get texts() {
    return readdirSync(this.records).map((name) => readFileSync(join(this.records, name), 'utf8'))
  }
}

// files returns the files of a folder that loci setup could change, by their names.
function files(folder) {
  const all = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const paths = all.map((entry) => join(entry.parentPath, entry.name)).filter((path) => !/\/(bin|records|\.local)\//.test(path))
  return Object.fromEntries(paths.map((path) => [path.slice(folder.length + 1), readFileSync(path, 'utf8')]))
}

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
    Object.assign(this.home.env, { LOCI_URL: this.server.url, LOCI_API_KEY: this.server.key })
    try {
      await this.walk()
    } catch (error) {
      this.faults.push(error.stack)
    } finally {
      this.model.stop()
      await this.server.stop()
      this.home.remove()
    }
    return this.faults
  }

  async walk() {
    this.recorder = new Recorder(this.home.folder, this.binary)
    const before = files(this.home.folder)
    await this.setup('--hooks', '--yes')
    const wired = files(this.home.folder)
    await this.setup('--hooks')
    this.check(same(files(this.home.folder), wired), 'a second run of loci setup changes something')
    this.recorder.start()
    const said = await this.turn()
    this.check(this.recorder.texts.some((text) => text.includes(decision)), `the prompt did not arrive: ${said}`)
    this.check(this.recorder.texts.some((text) => text.includes(answer)), `the answer did not arrive: ${said}`)
    this.check(this.recorder.texts.length < 8, `there were ${this.recorder.texts.length} runs of loci hook for one turn`)
    await this.candidate()
    this.recorder.stop()
    await this.unwire(before, wired)
  }

  // setup runs loci setup, which finds itself on the PATH of the program.
  async setup(...args) {
    const done = await this.home.run([this.recorder.path, 'setup', this.name, ...args])
    this.check(done.code === 0, `loci setup ${args.join(' ')} failed: ${done.out}`)
  }

  async turn() {
    const { hooks } = this.program
    const done = await this.home.run(hooks.prompt ? hooks.prompt(decision) : permitted(this.program, decision))
    this.check(done.code === 0, `the turn ended with ${done.code}: ${done.out}`)
    return done.out
  }

  // candidate waits for the one candidate of the turn.
  async candidate() {
    const list = async () => (await this.server.call('GET', '/v1/sessions/candidates')).candidates
    const [first, ...others] = await until(async () => {
      const found = await list()
      return found.length && found
    }, 'a candidate', 10)
    this.check(others.length === 0, `there are ${others.length + 1} candidates: ${JSON.stringify([first, ...others])}`)
    const { sessions } = await this.server.call('GET', '/v1/sessions')
    const adapter = this.program.setup ?? this.name
    this.check(sessions.length === 1 && sessions[0].adapter === adapter, `the sessions are ${JSON.stringify(sessions)}`)
    this.drawn = { content: first.content, title: first.title, type: first.type, status: first.status }
  }

  // unwire takes the hooks back: what loci setup made or changed is as it was, and a turn brings nothing.
  async unwire(before, wired) {
    await this.setup('--remove', '--hooks')
    const after = files(this.home.folder)
    for (const path of Object.keys(wired).filter((path) => wired[path] !== before[path])) {
      this.check(after[path] === before[path], `${path} is left as ${after[path]}`)
    }
    const count = this.recorder.texts.length
    this.recorder.start()
    await this.turn()
    await pause(500)
    this.check(this.recorder.texts.length === count, 'without its hooks the program runs loci hook')
  }
}

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b)

const [given, ...asked] = process.argv.slice(2)
const binary = given && resolve(given) // programs run elsewhere
const all = Object.keys(programs).filter((name) => programs[name].hooks)
const names = asked.length === 0 ? all.filter((name) => programs[name].ci) : asked[0] === 'all' ? all : asked
if (!binary || names.some((name) => !all.includes(name))) {
  console.error(`usage: hooks.mjs BINARY [all | NAME...]; the names are ${all.join(', ')}`)
  process.exit(2)
}
let failures = 0
const drawn = new Map()
for (const name of names) {
  const judge = new Judge(name, binary)
  const began = Date.now()
  const missing = !existsSync(programs[name].needs)
  const faults = missing ? [`${programs[name].needs} is missing: run scripts/setup or make clients`] : await judge.run()
  if (judge.drawn) drawn.set(name, judge.drawn)
  failures += faults.length
  const done = faults.length ? faults.join('\n  ') : 'reports a turn, draws one candidate, is unwired without a trace'
  console.log(`hooks: ${name}: ${done} (${Math.round((Date.now() - began) / 1000)} s)`)
}
const [[first, candidate] = [], ...others] = drawn
for (const [name, other] of others) {
  if (same(other, candidate)) continue
  failures++
  console.log(`hooks: ${name} draws ${JSON.stringify(other)}, ${first} ${JSON.stringify(candidate)}`)
}
process.exit(failures || !names.length ? 1 : 0)
