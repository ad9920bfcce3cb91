// A client of Loci made of an official TypeScript SDK; scripts/judges/sdks.mjs runs it.
//
//   node typescript.mjs PACKAGE URL    (PACKAGE is @modelcontextprotocol/sdk or @modelcontextprotocol/client)
//
// Each line of the input is a word: the client lists the tools, stores the word, reads it, and prints a line of JSON.
import { createInterface } from 'node:readline'
import { Person } from '../person.mjs'

const [name, url] = process.argv.slice(2)
const v1 = name.endsWith('/sdk')
const { Client } = await import(v1 ? `${name}/client/index.js` : name)
const { StreamableHTTPClientTransport } = await import(v1 ? `${name}/client/streamableHttp.js` : name)
const { UnauthorizedError } = await import(v1 ? `${name}/client/auth.js` : name)

// A Provider keeps what an application would store. The person answers as soon as the SDK redirects.
class Provider {
  redirectUrl = 'http://127.0.0.1:33418/callback'
  clientMetadata = { client_name: name, redirect_uris: [this.redirectUrl], grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'], token_endpoint_auth_method: 'none' }
  authorizations = 0
  state = () => 'state of the judge'
  clientInformation = () => this.client
  saveClientInformation = (value) => { this.client = value }
  tokens = () => this.kept
  saveTokens = (value) => { this.kept = value }
  codeVerifier = () => this.verifier
  discoveryState = () => this.discovery
  saveDiscoveryState = (value) => { this.discovery = value }
  saveCodeVerifier = (value) => { this.verifier = value }
  async redirectToAuthorization(address) {
    this.authorizations++
    const env = process.env
    const person = new Person({ email: env.LOCI_PERSON_EMAIL, password: env.LOCI_PERSON_PASSWORD, workspaces: env.LOCI_PERSON_WORKSPACES.split(',') })
    this.answer = new URL(await person.authorize(address.href)).searchParams
    if (this.answer.get('state') !== this.state()) throw new Error(`the state came back as ${this.answer.get('state')}`)
  }
}

const provider = new Provider()
const newTransport = () => new StreamableHTTPClientTransport(new URL(url), { authProvider: provider })
const newClient = () => new Client({ name: 'judge', version: '1' }, v1 ? {} : { versionNegotiation: { mode: 'auto' } })

async function connect() {
  const client = newClient()
  const transport = newTransport()
  try {
    await client.connect(transport)
    return client
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error
  }
  if (v1) await transport.finishAuth(provider.answer.get('code'))
  else await transport.finishAuth(provider.answer)
  const again = newClient()
  await again.connect(newTransport())
  return again
}

async function call(client, tool, args) {
  const result = await client.callTool({ name: tool, arguments: args })
  if (result.isError) throw new Error(`${tool}: ${JSON.stringify(result.content)}`)
  return JSON.parse(result.content[0].text)
}

let client
for await (const line of createInterface({ input: process.stdin })) {
  const word = line.split(':').at(-1) // the SDK learns by 401 that its token has expired
  client ??= await connect()
  const { tools } = await client.listTools()
  const made = await call(client, 'memory_create', { content: `The SDK remembers ${word}.` })
  const memory = await call(client, 'memory_get', { memoryId: made.memory.id })
  console.log(JSON.stringify({ tools: tools.length, content: memory.content, authorizations: provider.authorizations }))
}
await client.close()
