// Runs the server scenarios of @modelcontextprotocol/conformance against Loci, as two revisions of the protocol require
// them.
//
//   node scripts/judges/mcp-conformance.mjs BINARY   (built with the tag conformance, which adds the suite's fixtures)
//
// The suite sends no credential, so a proxy adds a key. It changes nothing else: Host and Origin pass as they were sent.
// mcp-conformance.yaml lists the failures that are expected, with reasons.
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort, listen } from './server.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const binary = process.argv[2] && resolve(process.argv[2])
if (!binary) {
  console.error('usage: mcp-conformance.mjs BINARY')
  process.exit(2)
}

// The suite needs Node 22.
const node = ['x64', 'arm64'].map((arch) => join(here, `node_modules/node-linux-${arch}/bin/node`)).find(existsSync)
if (!node) {
  console.error('mcp-conformance: Node 22 is missing: run scripts/setup')
  process.exit(1)
}

const work = mkdtempSync(join(tmpdir(), 'loci-conformance-'))
const data = ['--data', join(work, 'data')]
const admin = (...args) => JSON.parse(execFileSync(binary, ['admin', ...args, '--json', ...data]))

// proxyTo forwards requests with a key. Headers pass in their order and case.
function proxyTo(port, key) {
  return createServer((q, a) => {
    const headers = [...q.rawHeaders, 'Authorization', `Bearer ${key}`]
    const forwarded = request({ host: '127.0.0.1', port, method: q.method, path: q.url, headers }, (answer) => {
      a.writeHead(answer.statusCode, answer.rawHeaders)
      answer.pipe(a)
    })
    forwarded.on('error', () => a.destroy())
    a.on('close', () => forwarded.destroy())
    q.pipe(forwarded)
  })
}

async function untilHealthy(port) {
  for (let i = 0; i < 300; i++) {
    const ok = await fetch(`http://127.0.0.1:${port}/health`).then((r) => r.ok, () => false)
    if (ok) return
    await new Promise((done) => setTimeout(done, 100))
  }
  throw new Error('the server does not start')
}

// run runs what a revision requires, and returns the exit code.
function run(url, revision) {
  const baseline = join(work, `${revision}.yaml`)
  const section = readFileSync(join(here, 'mcp-conformance.yaml'), 'utf8').split(/^# revision /m)
    .find((part) => part.startsWith(revision))
  writeFileSync(baseline, section.slice(revision.length))
  const suite = join(here, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')
  const child = spawn(node, [suite, 'server', '--url', url, '--requirements', revision, '--expected-failures', baseline,
    '-o', join(work, revision)], { stdio: 'inherit', cwd: work })
  return new Promise((done) => child.on('exit', (code) => done(code ?? 1)))
}

let server
let code = 1
try {
  admin('user', 'create', '--email', 'a@example.com')
  const { apiKey } = admin('key', 'create', '--email', 'a@example.com')
  const port = await freePort()
  const proxy = proxyTo(port, apiKey)
  const url = `http://localhost:${await listen(proxy)}`
  server = spawn(binary, ['serve', ...data, '--listen', `127.0.0.1:${port}`], {
    stdio: 'ignore',
    env: { ...process.env, LOCI_CORS_ORIGINS: url, LOCI_RATE_LIMIT: '0', LOCI_DRAIN: '0' },
  })
  await untilHealthy(port)
  const codes = []
  for (const revision of ['2025-11-25', '2026-07-28']) codes.push(await run(`${url}/mcp`, revision))
  code = codes.find((c) => c !== 0) ?? 0
  proxy.closeAllConnections()
  proxy.close()
} finally {
  server?.kill()
  rmSync(work, { recursive: true, force: true })
}
process.exit(code)
