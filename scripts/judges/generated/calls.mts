// Calls 30 operations by types of openapi-typescript, and prints how many; scripts/judges/generated.mjs checks and runs it.
//
//   calls.mts URL KEY
import createClient from 'openapi-fetch'
import type { components, paths } from 'loci-api'

declare const process: { argv: string[] }

const [url, key] = process.argv.slice(2)
const client = createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${key}` } })
const called = new Set<string>()

// answer returns the data of a call that succeeded, typed as the document says.
async function answer<T>(name: string, call: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const { data, error, response } = await call
  if (data === undefined) throw new Error(`${name}: ${response.status} ${JSON.stringify(error)}`)
  called.add(name)
  return data
}

function equal<T>(got: T, want: T, what: string) {
  if (JSON.stringify(got) !== JSON.stringify(want)) throw new Error(`${what}: ${JSON.stringify(got)}, not ${JSON.stringify(want)}`)
}

const { user } = await answer('account.me', client.GET('/v1/me'))
equal(user.email, 'ann@example.com', 'me')
await answer('account.status', client.GET('/v1/status'))
const { workspace } = await answer('workspace.create', client.POST('/v1/workspaces', { body: { name: 'Typed' } }))
const place = { params: { path: { workspaceId: workspace.id } } }
equal((await answer('workspace.get', client.GET('/v1/workspaces/{workspaceId}', place))).workspace.name, 'Typed', 'workspace')
await answer('workspace.update', client.PATCH('/v1/workspaces/{workspaceId}', { ...place, body: { name: 'Typed well' } }))
const { workspaces } = await answer('workspace.list', client.GET('/v1/workspaces', { params: { query: { limit: 100 } } }))
equal(workspaces.some((w) => w.name === 'Typed well' && w.role === 'owner'), true, 'workspaces')
const { members } = await answer('member.list', client.GET('/v1/workspaces/{workspaceId}/members', place))
equal(members.map((m) => m.role), ['owner'], 'members')

const { atlas } = await answer('atlas.create', client.POST('/v1/atlases', { body: { name: 'Hosts', workspaceId: workspace.id, keywords: ['host'] } }))
const shelf = { params: { path: { atlasId: atlas.id } } }
await answer('atlas.update', client.PATCH('/v1/atlases/{atlasId}', { ...shelf, body: { description: 'Where things run' } }))
equal((await answer('atlas.get', client.GET('/v1/atlases/{atlasId}', shelf))).atlas.description, 'Where things run', 'atlas')
await answer('atlas.list', client.GET('/v1/atlases', { params: { query: { workspace_id: workspace.id } } }))

const create = (content: string) => client.POST('/v1/memories', { body: { content, workspaceId: workspace.id, type: 'fact', tags: ['host'] } })
const { memory } = await answer('memory.create', create('The staging host is called basalt.'))
const known = { params: { path: { memoryId: memory.id } } }
const kind: components['schemas']['Memory']['type'] = memory.type
equal(kind, 'fact', 'type')
await answer('memory.update', client.PATCH('/v1/memories/{memoryId}', { ...known, body: { title: 'Staging', tags: [] } }))
await answer('memory.append', client.POST('/v1/memories/{memoryId}/append', { ...known, body: { content: 'It listens on 8443.' } }))
await answer('memory.verify', client.POST('/v1/memories/{memoryId}/verify', { ...known, body: { evidence: 'uname', confidence: 0.5 } }))
const read = await answer('memory.get', client.GET('/v1/memories/{memoryId}', known))
equal([read.title, read.confidence, read.version > 2], ['Staging', 0.5, true], 'memory')
const { versions } = await answer('memory.versions', client.GET('/v1/memories/{memoryId}/versions', known))
await answer('memory.revert', client.POST('/v1/memories/{memoryId}/revert', { ...known, body: { version: versions[0].version - 1 } }))
const found = await answer('memory.search', client.POST('/v1/memories/search', { body: { query: 'basalt', mode: 'keyword', workspace_id: workspace.id } }))
equal(found.memories.map((m) => m.id), [memory.id], 'found')
const listed = await answer('memory.list', client.GET('/v1/memories', { params: { query: { workspace_id: workspace.id, type: ['fact'], since: '7d' } } }))
equal(listed.memories.length, 1, 'listed')
const context = await answer('memory.context', client.GET('/v1/memories/context', { params: { query: { atlas_id: atlas.id, max_tokens: 500 } } }))
equal(context.groups.map((g) => g.type), ['fact'], 'context')
const { memory: next } = await answer('memory.create', create('The staging host is called granite.'))
await answer('memory.similar', client.GET('/v1/memories/{memoryId}/similar', known))
const old = await answer('memory.supersede', client.POST('/v1/memories/{memoryId}/supersede', { ...known, body: { replacementMemoryId: next.id } }))
equal(old.memory.supersededBy, next.id, 'superseded')
await answer('memory.restore', client.POST('/v1/memories/{memoryId}/restore', known))
await answer('memory.archive', client.POST('/v1/memories/{memoryId}/archive', known))
await answer('memory.delete', client.DELETE('/v1/memories/{memoryId}', known))

const { session } = await answer('session.start', client.POST('/v1/sessions', { body: { task: 'Move staging', workspaceId: workspace.id } }))
const work = { params: { path: { sessionId: session.id } } }
await answer('session.capture', client.POST('/v1/sessions/{sessionId}/candidates', { ...work, body: { content: 'Staging has moved.', type: 'decision' } }))
await answer('session.finalize', client.POST('/v1/sessions/{sessionId}/finalize', { ...work, body: { summary: 'Done.' } }))
await answer('key.list', client.GET('/v1/api-keys'))

const refused = await client.GET('/v1/memories/{memoryId}', known)
equal([refused.error?.code, refused.response.status], ['not_found', 404], 'a deleted memory')
// @ts-expect-error content is required
void (() => client.POST('/v1/memories', { body: {} }))
// @ts-expect-error no such type
void (() => client.POST('/v1/memories', { body: { content: 'x', type: 'rumour' } }))
console.log(called.size)
