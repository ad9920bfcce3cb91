// The home of a client program that a judge runs.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { email, password } from './server.mjs'

const here = dirname(fileURLToPath(import.meta.url))

// A Home is the empty home of a program and its environment, which has nothing of the caller's.
export class Home {
  constructor(program, server, model) {
    this.folder = mkdtempSync(join(tmpdir(), 'loci-program-'))
    this.program = program
    this.log = join(this.folder, 'person.log')
    this.work = join(this.folder, 'work')
    mkdirSync(this.work)
    this.env = {
      PATH: [join(here, 'bin'), dirname(process.execPath), process.env.PATH].join(delimiter), HOME: this.folder, TERM: 'xterm-256color', LANG: 'C.UTF-8',
      BROWSER: join(here, 'bin/xdg-open'), DO_NOT_TRACK: '1',
      LOCI_PERSON_EMAIL: email, LOCI_PERSON_PASSWORD: password, LOCI_PERSON_WORKSPACES: server.team, LOCI_PERSON_LOG: this.log,
      LOCI_PERSON_NODE: process.execPath, ...(program.signIn ? {} : { LOCI_API_KEY: server.key }), ...program.env(model.url),
    }
    for (const [name, text] of Object.entries(program.files?.(model.url) ?? {})) {
      mkdirSync(dirname(join(this.folder, name)), { recursive: true })
      writeFileSync(join(this.folder, name), text)
    }
  }

  // config returns the text of the file that lists the servers.
  get config() {
    const path = join(this.folder, this.program.config)
    return existsSync(path) ? readFileSync(path, 'utf8') : ''
  }

  // run runs a command; on a terminal if it asks for one.
  run(command, { terminal = false, seconds = 90 } = {}) {
    const args = terminal ? ['script', '-qec', command.map((part) => `'${part}'`).join(' '), '/dev/null'] : command
    return new Promise((done) => {
      // A group of its own, so that what the program started ends with it.
      const child = spawn(args[0], args.slice(1), { env: this.env, cwd: this.work, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
      let out = ''
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => { out += part })
      const timer = setTimeout(() => { out += ' [no end]'; process.kill(-child.pid, 'SIGKILL') }, seconds * 1000)
      child.once('error', (error) => { out += error })
      child.once('close', (code) => { clearTimeout(timer); done({ code, out: out.slice(-1500) }) })
    })
  }

  remove() {
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 })
  }
}
