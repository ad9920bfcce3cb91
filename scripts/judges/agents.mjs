// Judges messages between agents by real client programs, each with an empty home and a model of the judges' own: loci
// setup --agent connects it as the agent of a key. It sends a message by the tool, which loci agent listen prints, then
// reads the reply in its inbox, and acknowledges it.
//
//   node scripts/judges/agents.mjs BINARY [all | NAME...]     (all: every program; without a name those of CI)
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { Home } from './home.mjs'
import { Model } from './model.mjs'
import { permitted, programs } from './program-list.mjs'
import { Server, email, until } from './server.mjs'

const capable = ['claude', 'codex'] // programs whose entry can name an agent, and whose model is ours

async function judge(name, binary) {
  const faults = []
  const check = (good, what) => { if (!good) faults.push(what); return good }
  const program = { ...programs[name], signIn: undefined } // with the key
  const server = await Server.start(binary)
  const model = await Model.start()
  const home = new Home(program, server, model)
  const key = server.admin(['key', 'create', '--email', email]).apiKey
  const call = async (credential, method, path, body) => {
    const answer = await fetch(server.url + path, { method, body: body && JSON.stringify(body),
      headers: { Authorization: `Bearer ${credential}`, 'X-Loci-Actor': 'agent', 'Content-Type': 'application/json' } })
    return answer.json()
  }
  const printed = []
  const listener = spawn(binary, ['agent', 'listen'], { env: { ...process.env, HOME: home.folder, LOCI_URL: server.url, LOCI_API_KEY: key },
    stdio: ['ignore', 'pipe', 'ignore'] })
  createInterface({ input: listener.stdout }).on('line', (line) => printed.push(JSON.parse(line)))
  const turn = (text) => home.run(permitted(program, text, `${server.url}/mcp`))
  try {
    const setup = await home.run([binary, 'setup', name, '--server', server.url, '--key-env', 'LOCI_API_KEY', '--agent'])
    check(setup.code === 0, `loci setup --agent failed: ${setup.out}`)
    const [ear] = await until(async () => {
      const { agents } = await server.call('GET', `/v1/agents?workspace_id=${server.personal}`)
      return agents.length && agents
    }, 'the listener')
    const sent = await turn(`tell ${ear.id}: basalt`)
    await until(() => printed.length > 0, `the message: ${sent.out}`, 10)
    const [message] = printed
    check(message.content === 'Staging moved to basalt.' && message.subject === 'Staging', `the message is ${JSON.stringify(message)}`)
    const reply = await call(key, 'POST', '/v1/agent-messages', { toAgentId: message.from.agentId, content: 'Gneiss, not basalt.', replyTo: message.id })
    const read = await turn('read the inbox')
    check(read.out.includes('Gneiss, not basalt.'), `the inbox reads ${read.out}`)
    await turn(`acknowledge ${reply.message?.id}`)
    const { messages } = await call(server.key, 'GET', '/v1/agent-messages/inbox?status=acknowledged')
    check(messages?.length === 1 && messages[0].id === reply.message?.id, `acknowledged are ${JSON.stringify(messages)}`)
    check(server.seen({ path: '/mcp', status: 200 }) > 0, 'it did not use the tools')
  } catch (error) {
    faults.push(error.stack)
  } finally {
    listener.kill()
    model.stop()
    await server.stop()
    home.remove()
  }
  return faults
}

const [given, ...asked] = process.argv.slice(2)
const binary = given && resolve(given) // programs run elsewhere
const names = asked.length === 0 ? capable.filter((name) => programs[name].ci) : asked[0] === 'all' ? capable : asked
if (!binary || names.some((name) => !capable.includes(name))) {
  console.error(`usage: agents.mjs BINARY [all | NAME...]; the names are ${capable.join(', ')}`)
  process.exit(2)
}
let failures = 0
for (const name of names) {
  const began = Date.now()
  const missing = !existsSync(programs[name].needs)
  const faults = missing ? [`${programs[name].needs} is missing: run scripts/setup or make clients`] : await judge(name, binary)
  failures += faults.length
  console.log(`agents: ${name}: ${faults.length ? faults.join('\n  ') : 'sends, reads and acknowledges'} (${Math.round((Date.now() - began) / 1000)} s)`)
}
process.exit(failures || !names.length ? 1 : 0)
