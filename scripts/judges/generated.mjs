// Judges docs/openapi.json by clients that are generated from it: openapi-typescript, whose types tsc checks against
// the calls, with openapi-fetch, and openapi-python-client. Each calls 30 operations of a server, and reads what it wrote.
//
//   node scripts/judges/generated.mjs BINARY
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Server } from './server.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const work = mkdtempSync(join(tmpdir(), 'loci-generated-'))
const tool = (name) => join(here, 'node_modules/.bin', name)
const python = (name) => join(here, '../../.venv/bin', name)
const calls = 30

// run runs a program and returns its output, or throws what it printed.
async function run(command, args, env = {}) {
  const options = { timeout: 60_000, env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1', ...env } }
  const done = await promisify(execFile)(command, args, options).catch((error) => { throw new Error(`${error.message}\n${error.stdout}`) })
  return done.stdout
}

const clients = {
  async typescript(server, document) {
    await run(tool('openapi-typescript'), [document, '-o', join(work, 'api.ts')])
    const script = join(here, 'generated/calls.mts')
    writeFileSync(join(work, 'tsconfig.json'), JSON.stringify({ files: [script, 'api.ts'], compilerOptions: { strict: true, noEmit: true,
      target: 'es2022', module: 'nodenext', lib: ['es2022', 'dom'], types: [], paths: { 'loci-api': ['./api.ts'] } } }))
    await run(tool('tsc'), ['-p', work])
    return run(process.execPath, ['--experimental-strip-types', '--no-warnings', script, server.url, server.key])
  },
  async python(server, document) {
    writeFileSync(join(work, 'config.yaml'), 'post_hooks: []\n')
    await run(python('openapi-python-client'),
      ['generate', '--path', document, '--output-path', join(work, 'client'), '--config', join(work, 'config.yaml'), '--fail-on-warning'])
    return run(python('python'), [join(here, 'generated/calls.py'), server.url, server.key], { PYTHONPATH: join(work, 'client') })
  },
}

const [binary] = process.argv.slice(2)
if (!binary) {
  console.error('usage: generated.mjs BINARY')
  process.exit(2)
}
const server = await Server.start(binary)
let failures = 0
try {
  for (const [name, judge] of Object.entries(clients)) {
    let fault
    try {
      const called = Number(await judge(server, join(here, '../../docs/openapi.json')))
      if (called !== calls) fault = `it called ${called} operations, not ${calls}`
    } catch (error) {
      fault = error.message.slice(-4000)
    }
    failures += fault ? 1 : 0
    console.log(`generated: ${name}: ${fault ?? `is generated and checked, and calls ${calls} operations`}`)
  }
} finally {
  await server.stop()
  rmSync(work, { recursive: true, force: true })
}
process.exit(failures ? 1 : 0)
