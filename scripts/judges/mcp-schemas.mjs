// Validates the responses of /mcp against the JSON Schemas of the protocol.
//
//   node scripts/judges/mcp-schemas.mjs URL KEY FOLDER   (URL without /mcp; FOLDER holds mcp-<revision>.schema.json)
//
// For each revision: the result of every method, of a tool in success and error, the errors of resources and prompts, and
// the JSON-RPC envelopes around them. Each schema is compiled in the draft that it names.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import draft7 from 'ajv'
import draft2020 from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

const [url, key, folder] = process.argv.slice(2)
if (!folder) {
  console.error('usage: mcp-schemas.mjs URL KEY FOLDER')
  process.exit(2)
}

const stateless = '2026-07-28'
const revisions = ['2025-06-18', '2025-11-25', stateless]
let checks = 0
let failures = 0

function schemaOf(revision) {
  const schema = JSON.parse(readFileSync(join(folder, `mcp-${revision}.schema.json`), 'utf8'))
  const Ajv = schema.$schema.includes('2020-12') ? draft2020.default : draft7.default
  const ajv = new Ajv({ strict: false, allErrors: true })
  addFormats.default(ajv)
  ajv.addFormat('byte', /^[A-Za-z0-9+/]*={0,2}$/) // base64; a format of OpenAPI that the protocol borrows
  ajv.addSchema(schema, 'mcp')
  const definitions = schema.$defs ? '$defs' : 'definitions'
  // The envelope has another name in each revision.
  const envelope = schema[definitions].JSONRPCResultResponse ? 'JSONRPCResultResponse' : 'JSONRPCResponse'
  return {
    envelope,
    check(name, value, what) {
      checks++
      const valid = ajv.getSchema(`mcp#/${definitions}/${name}`)
      if (!valid) throw new Error(`${revision} has no ${name}`)
      if (valid(value)) return
      failures++
      console.error(`mcp-schemas: ${revision} ${what} is no ${name}: ${ajv.errorsText(valid.errors)}\n${JSON.stringify(value).slice(0, 2000)}`)
    },
  }
}

// post sends one JSON-RPC message and returns the response, from a JSON body or from the first event of a stream.
async function post(revision, message) {
  const headers = {
    Authorization: `Bearer ${key}`,
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    'MCP-Protocol-Version': revision,
  }
  let { params } = message
  if (revision === stateless) {
    headers['Mcp-Method'] = message.method
    const name = params?.name ?? params?.uri
    if (name) headers['Mcp-Name'] = name
    params = {
      ...params,
      _meta: {
        'io.modelcontextprotocol/protocolVersion': revision,
        'io.modelcontextprotocol/clientInfo': { name: 'schema-judge', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    }
  }
  const body = JSON.stringify({ jsonrpc: '2.0', ...message, params })
  const answer = await fetch(`${url}/mcp`, { method: 'POST', headers, body })
  if (message.id === undefined) return undefined
  if (!answer.headers.get('content-type')?.includes('text/event-stream')) return JSON.parse(await answer.text())
  return firstEvent(answer)
}

// firstEvent reads a stream up to its first message, and closes it.
async function firstEvent(answer) {
  let text = ''
  for await (const part of answer.body) {
    text += Buffer.from(part).toString('utf8')
    if (text.includes('\n\n')) break
  }
  return JSON.parse(text.split('\n').find((line) => line.startsWith('data:')).slice(5))
}

function expect(ok, what, value) {
  checks++
  if (ok) return
  failures++
  console.error(`mcp-schemas: ${what}: ${JSON.stringify(value).slice(0, 500)}`)
}

async function judge(revision) {
  const { check, envelope } = schemaOf(revision)
  let id = 0
  const ask = async (method, params, result, what = method) => {
    const answer = await post(revision, { id: ++id, method, params })
    check(envelope, answer, `the answer to ${what}`)
    check(result, answer.result, what)
    return answer.result ?? {}
  }
  const refuse = async (method, params, code) => {
    const answer = await post(revision, { id: ++id, method, params })
    check(revision === '2025-06-18' ? 'JSONRPCError' : 'JSONRPCErrorResponse', answer, `a refused ${method}`)
    expect(answer.error?.code === code, `${revision} ${method} is refused with ${code}`, answer)
  }
  if (revision === stateless) {
    const found = await ask('server/discover', {}, 'DiscoverResult')
    expect(found.supportedVersions?.includes(revision), `${revision} is supported`, found)
    const message = { id: ++id, method: 'subscriptions/listen', params: { notifications: { toolsListChanged: true } } }
    check('SubscriptionsAcknowledgedNotification', await post(revision, message), 'subscriptions/listen')
  } else {
    const begun = await ask('initialize', {
      protocolVersion: revision, capabilities: {}, clientInfo: { name: 'schema-judge', version: '1' },
    }, 'InitializeResult')
    expect(begun.protocolVersion === revision, `asked for ${revision}`, begun)
    await post(revision, { method: 'notifications/initialized' })
    await ask('ping', {}, 'Result')
  }
  await ask('tools/list', {}, 'ListToolsResult')
  const tool = (name, args, what) => ask('tools/call', { name, arguments: args }, 'CallToolResult', what)
  const made = await tool('memory_create', { content: `Judged by the schema of ${revision}.` }, 'memory_create')
  const found = await tool('memory_search', { query: 'judged schema' }, 'memory_search')
  const refused = await tool('memory_create', { content: 7 }, 'a refused memory_create')
  for (const [answer, want] of [[made, false], [found, false], [refused, true]]) {
    expect((answer.isError ?? false) === want, `${revision} isError should be ${want}`, answer)
  }
  const { memory } = JSON.parse(made.content[0].text)
  const atlasId = memory.atlas.id

  const { resources } = await ask('resources/list', {}, 'ListResourcesResult')
  expect(resources?.length > 0, `${revision} lists atlases`, resources)
  await ask('resources/templates/list', {}, 'ListResourceTemplatesResult')
  for (const uri of [`loci://memory/${memory.id}`, `loci://atlas/${atlasId}/context`]) {
    await ask('resources/read', { uri }, 'ReadResourceResult', uri)
  }
  await refuse('resources/read', { uri: 'loci://memory/nowhere' }, revision === stateless ? -32602 : -32002)

  const { prompts } = await ask('prompts/list', {}, 'ListPromptsResult')
  expect(prompts?.length === 3, `${revision} lists three prompts`, prompts)
  const argumentsOf = { recall: { query: 'judged schema' }, remember: { text: 'Judged.' }, handover: {} }
  for (const name of Object.keys(argumentsOf)) {
    await ask('prompts/get', { name, arguments: argumentsOf[name] }, 'GetPromptResult', name)
  }
  await refuse('prompts/get', { name: 'nothing' }, -32602)

  const begin = atlasId.slice(0, 8)
  for (const [ref, name] of [[{ type: 'ref/prompt', name: 'recall' }, 'atlas'],
    [{ type: 'ref/resource', uri: 'loci://atlas/{atlasId}/context' }, 'atlasId']]) {
    const { completion } = await ask('completion/complete', { ref, argument: { name, value: begin } }, 'CompleteResult')
    expect(completion?.values.includes(atlasId), `${revision} completes ${begin}`, completion)
  }
}

for (const revision of revisions) await judge(revision)
console.log(`mcp-schemas: ${checks} checks of answers in ${revisions.join(', ')}, ${failures} failures`)
process.exitCode = failures ? 1 : 0
