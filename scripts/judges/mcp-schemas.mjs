// Validates the responses of /mcp against the JSON Schemas of the protocol.
//
//   node scripts/judges/mcp-schemas.mjs URL KEY FOLDER   (URL without /mcp; FOLDER holds mcp-<revision>.schema.json)
//
// For each revision: InitializeResult, ListToolsResult, CallToolResult of a success and of an error, and the JSON-RPC
// envelopes around them. Each schema is compiled in the draft that it names.
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

const revisions = ['2025-06-18', '2025-11-25']
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
  const answer = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${key}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': revision,
    },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${message.method} was answered with ${answer.status}: ${text.slice(0, 500)}`)
  if (message.id === undefined) return undefined
  if (!answer.headers.get('content-type')?.includes('text/event-stream')) return JSON.parse(text)
  return JSON.parse(text.split('\n').find((line) => line.startsWith('data:')).slice(5))
}

async function judge(revision) {
  const { check, envelope } = schemaOf(revision)
  const ask = async (id, method, params, result, what) => {
    const answer = await post(revision, { id, method, params })
    check(envelope, answer, `the answer to ${what}`)
    check(result, answer.result, what)
    return answer.result ?? {}
  }
  const begun = await ask(1, 'initialize', {
    protocolVersion: revision, capabilities: {}, clientInfo: { name: 'schema-judge', version: '1' },
  }, 'InitializeResult', 'initialize')
  if (begun.protocolVersion !== revision) {
    failures++
    console.error(`mcp-schemas: asked for ${revision}, got ${begun.protocolVersion}`)
  }
  await post(revision, { method: 'notifications/initialized' })
  await ask(2, 'tools/list', {}, 'ListToolsResult', 'tools/list')
  const tool = (id, name, args, what) => ask(id, 'tools/call', { name, arguments: args }, 'CallToolResult', what)
  const made = await tool(3, 'memory_create', { content: `Judged by the schema of ${revision}.` }, 'memory_create')
  const found = await tool(4, 'memory_search', { query: 'judged schema' }, 'memory_search')
  const refused = await tool(5, 'memory_create', { content: 7 }, 'a refused memory_create')
  for (const [answer, want] of [[made, false], [found, false], [refused, true]]) {
    if ((answer.isError ?? false) === want) continue
    failures++
    console.error(`mcp-schemas: ${revision} isError should be ${want}: ${JSON.stringify(answer).slice(0, 500)}`)
  }
}

for (const revision of revisions) await judge(revision)
console.log(`mcp-schemas: ${checks} answers of ${revisions.join(' and ')} checked, ${failures} failures`)
process.exitCode = failures ? 1 : 0
