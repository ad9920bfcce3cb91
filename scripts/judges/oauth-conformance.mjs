// Runs the authorization scenarios of @modelcontextprotocol/conformance against the authorization server of Loci. A
// person signs in and consents where the suite asks for one.
//
//   node scripts/judges/oauth-conformance.mjs BINARY
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Person } from './person.mjs'
import { Server, email, freePort, password } from './server.mjs'

const suite = join(dirname(fileURLToPath(import.meta.url)), 'node_modules/@modelcontextprotocol/conformance/dist/index.js')
const wanted = ['authorization-server-metadata', 'authorization-server-metadata-cimd', 'authorization-code-grant']

// register registers the client of the suite.
async function register(server, port) {
  const answer = await fetch(`${server.url}/oauth/register`, {
    method: 'POST', headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ client_name: 'conformance', redirect_uris: [`http://127.0.0.1:${port}/callback`], token_endpoint_auth_method: 'none' }),
  })
  if (answer.status !== 201) throw new Error(`register was answered with ${answer.status}: ${await answer.text()}`)
  return (await answer.json()).client_id
}

// run runs the suite in a process, and lets the person open the address that it prints.
async function run(server, args) {
  const child = spawn(process.execPath, [suite, 'authorization', ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise((resolve) => child.once('close', resolve))
  const timer = setTimeout(() => child.kill(), 60_000)
  let out = ''
  child.stderr.on('data', (part) => { out += part })
  for await (const line of createInterface({ input: child.stdout })) {
    out += line + '\n'
    if (!line.startsWith(`${server.url}/oauth/authorize?`)) continue
    const person = new Person({ email, password, workspaces: [server.team] })
    await person.authorize(line).then(fetch).catch((error) => { out += error.stack; child.kill() })
  }
  clearTimeout(timer)
  return { code: await ended, out }
}

const [binary] = process.argv.slice(2)
if (!binary) {
  console.error('usage: oauth-conformance.mjs BINARY')
  process.exit(2)
}
const server = await Server.start(binary, { LOCI_OAUTH_CIMD: 'on' })
const results = mkdtempSync(join(tmpdir(), 'loci-conformance-'))
try {
  const port = await freePort()
  const args = ['--url', server.url, '--client-id', await register(server, port), '--resource', `${server.url}/mcp`, '--port', String(port)]
  const { code, out } = await run(server, [...args, '--output-dir', results])
  const files = readdirSync(results, { recursive: true }).filter((name) => name.endsWith('checks.json'))
  const checks = files.flatMap((name) => JSON.parse(readFileSync(join(results, name))))
  const bad = checks.filter((check) => check.status !== 'SUCCESS').map((check) => `${check.id}: ${check.status} ${check.errorMessage}`)
  const missing = wanted.filter((id) => !checks.some((check) => check.id === id)).map((id) => `${id} is missing`)
  if (code !== 0 || bad.length || missing.length) {
    console.error(`${out}\noauth-conformance: exit ${code}: ${[...bad, ...missing].join('; ')}`)
    process.exitCode = 1
  } else console.log(`oauth-conformance: ${checks.length} checks of ${files.length} scenarios succeeded`)
} finally {
  rmSync(results, { recursive: true, force: true })
  await server.stop()
}
