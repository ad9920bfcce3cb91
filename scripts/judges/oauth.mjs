// Judges the authorization server of Loci by oauth4webapi: the whole flow as a client, then negative probes.
//
//   node scripts/judges/oauth.mjs BINARY
import * as oauth from 'oauth4webapi'
import { flow, newClient, refused, tokens } from './oauth-client.mjs'
import { Person, forms } from './person.mjs'
import { Server, email, password } from './server.mjs'

const [binary] = process.argv.slice(2)
if (!binary) {
  console.error('usage: oauth.mjs BINARY')
  process.exit(2)
}
const server = await Server.start(binary)
const person = () => new Person({ email, password, workspaces: [server.team] })
const redirect = 'http://127.0.0.1:33418/callback'
const state = 'a b&c=d/é%2F~' // comes back byte for byte
let faults = 0
let probes = 0

// probe runs one check, which throws or returns what is wrong.
async function probe(name, run) {
  probes++
  const fault = await Promise.resolve().then(run).catch((error) => error.stack + (error.cause ? ` ${JSON.stringify(error.cause)}` : ''))
  if (!fault) return
  faults++
  console.error(`oauth: ${name}: ${fault}`)
}

const is = (got, want) => (JSON.stringify(got) === JSON.stringify(want) ? '' : `got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`)

// ---------------------------------------------------------------- the flow
const { as, client, other } = await newClient(server, redirect)
const begin = (changes) => flow(as, client, redirect, server, state, changes)

// authorized lets the person answer one request, and returns what a token request needs.
async function authorized(changes) {
  const request = await begin(changes)
  const location = new URL(await person().authorize(request.address))
  return { ...request, location, params: oauth.validateAuthResponse(as, client, location, state) }
}

// ask sends a form to the token endpoint, without the library's care; [status, error] is the answer.
async function ask(fields, init = {}) {
  const answer = await fetch(as.token_endpoint, { method: 'POST', body: new URLSearchParams(fields), ...init })
  const body = await answer.json()
  if (answer.headers.get('cache-control') !== 'no-store') throw new Error(`Cache-Control is ${answer.headers.get('cache-control')}`)
  if (answer.status >= 400 && 'access_token' in body) throw new Error('an error with a token')
  return [answer.status, body.error ?? null]
}

const redeem = (a, changes = {}) => ask({ grant_type: 'authorization_code', code: a.params.get('code'), redirect_uri: redirect,
  client_id: client.client_id, code_verifier: a.verifier, resource: as.resource, ...changes })
const renew = (refresh_token, changes = {}) => ask({ grant_type: 'refresh_token', refresh_token, client_id: client.client_id, ...changes })

// mcp calls a tool by a token, and returns the answer with its status and challenge.
async function mcp(token, name = 'memory_list', args = {}) {
  const answer = await fetch(as.resource, {
    method: 'POST', headers: { ...(token && { Authorization: `Bearer ${token}` }), 'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2025-11-25' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
  })
  return { status: answer.status, challenge: answer.headers.get('www-authenticate') ?? '', text: await answer.text() }
}

// invalid tells why a token still opens something.
async function invalid(token) {
  const { status, challenge } = await mcp(token)
  const rest = await fetch(`${server.url}/v1/memories`, { headers: { Authorization: `Bearer ${token}` } })
  return is([status, challenge.includes('error="invalid_token"'), rest.status], [401, true, 401])
}

// redirected opens a faulty request, and compares the error that the client gets.
async function redirected(changes, error) {
  const { address } = await begin(changes)
  const { away, status, html } = await person().open(address)
  if (!away) return `no redirect but ${status}: ${html.slice(0, 200)}`
  const got = new URL(away)
  return is([`${got.origin}${got.pathname}`, got.searchParams.get('error'), got.searchParams.get('state'), got.searchParams.get('iss'), got.searchParams.get('code')],
    [redirect, error, state, as.issuer, null])
}

// page opens a faulty request that must not be redirected.
async function page(changes, more = '') {
  const { address } = await begin(changes)
  const { away, status } = await person().open(address + more)
  return is([away ?? null, status], [null, 400])
}

await probe('the whole flow', async () => {
  await server.call('POST', '/v1/memories', { content: 'A secret of the personal workspace.' })
  const a = await authorized()
  const got = await tokens(as, client, a, redirect)
  const made = await mcp(got.access_token, 'memory_create', { content: 'Written by oauth4webapi.' })
  const listed = await mcp(got.access_token)
  const renewed = await oauth.processRefreshTokenResponse(as, client,
    await oauth.refreshTokenGrantRequest(as, client, oauth.None(), got.refresh_token, { [oauth.allowInsecureRequests]: true }))
  const again = await mcp(renewed.access_token)
  return is([got.token_type, got.scope, got.expires_in, made.status, listed.text.includes('Written by oauth4webapi'), listed.text.includes('secret of the personal'),
    renewed.refresh_token !== got.refresh_token, again.status, (await server.memories('Written by oauth4webapi'))[0]?.workspaceId],
  ['bearer', 'mcp', 3600, 200, true, false, true, 200, server.team])
})
await probe('resources of one meaning', async () => {
  for (const resource of [`${as.resource}/`, `${as.resource}?toolset=core`, undefined]) {
    const got = await tokens(as, client, await authorized({ resource }), redirect)
    const wrong = is((await mcp(got.access_token)).status, 200)
    if (wrong) return `${resource}: ${wrong}`
  }
})

// ---------------------------------------------------------------- negative probes of the authorization endpoint
const a0 = await authorized()
await probe('another state', async () => refused(() => oauth.validateAuthResponse(as, client, a0.location, 'other'), 'state'))
await probe('another issuer', async () => {
  const location = new URL(a0.location)
  location.searchParams.set('iss', 'https://other.example')
  return refused(() => oauth.validateAuthResponse(as, client, location, state), 'iss')
})
await probe('no PKCE', () => redirected({ code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'))
await probe('PKCE without a method', () => redirected({ code_challenge_method: undefined }, 'invalid_request'))
await probe('PKCE plain', () => redirected({ code_challenge_method: 'plain' }, 'invalid_request'))
await probe('the implicit flow', () => redirected({ response_type: 'token' }, 'unsupported_response_type'))
await probe('a foreign resource', () => redirected({ resource: 'https://other.example/mcp' }, 'invalid_target'))
await probe('a scope without mcp', () => redirected({ scope: 'openid profile' }, 'invalid_scope'))
await probe('a foreign redirect', () => page({ redirect_uri: 'https://other.example/callback' }))
await probe('a redirect with another path', () => page({ redirect_uri: `${redirect}/other` }))
await probe('an unknown client', () => page({ client_id: 'unknown' }))
await probe('a doubled state', () => page({}, '&state=other'))
await probe('a doubled redirect', () => page({}, `&redirect_uri=${encodeURIComponent(redirect)}`))
await probe('a refusal by the person', async () => {
  const location = new URL(await person().authorize((await begin()).address, 'deny'))
  const p = location.searchParams
  return is([p.get('error'), p.get('state'), p.get('iss'), p.get('code')], ['access_denied', state, as.issuer, null])
})

// consent opens the question of consent, and returns its form with a person who is signed in.
async function consent() {
  const ann = person()
  const first = await ann.open((await begin()).address)
  const signin = forms(first.html).find((f) => f.names.includes('password'))
  const shown = await ann.open(new URL(signin.action || first.address, first.address).href, new URLSearchParams(
    signin.fields.filter((f) => f.name).map(({ name, type, value }) => [name, type === 'email' ? email : type === 'password' ? password : value])))
  const form = forms(shown.html).find((f) => f.names.includes('decision'))
  const fields = new URLSearchParams(form.fields.filter((f) => f.type === 'hidden').map((f) => [f.name, f.value]))
  fields.append('decision', 'allow')
  return { ann, address: new URL(form.action || shown.address, shown.address).href, fields }
}

// stays sends a changed form of consent, which must lead to no client.
async function stays(change, by = (c) => c.ann) {
  const c = await consent()
  c.fields.append('workspaces', server.team)
  change?.(c)
  const { away, status } = await by(c).open(c.address, c.fields)
  return is([away ?? null, status >= 400], [null, true])
}
await probe('consent to no workspace', () => stays((c) => c.fields.delete('workspaces')))
await probe('consent to a foreign workspace', () => stays((c) => c.fields.set('workspaces', '01a20000-0000-7000-8000-000000000000')))
await probe('a changed request', () => stays((c) => {
  const request = c.fields.get('request')
  c.fields.set('request', (request[0] === 'A' ? 'B' : 'A') + request.slice(1))
}))
await probe('the consent of another sign-in', async () => {
  const second = await consent()
  return stays(undefined, () => second.ann)
})
await probe('a form of another site', async () => {
  const c = await consent()
  c.fields.append('workspaces', server.team)
  const answer = await c.ann.send(c.address, { Origin: 'https://other.example', 'Sec-Fetch-Site': 'cross-site' }, c.fields)
  return is([answer.status, answer.headers.get('location')], [403, null])
})

// ---------------------------------------------------------------- negative probes of the token endpoint
const wrong = (name, changes, want) => probe(name, async () => is(await redeem(await authorized(), changes), want))
await wrong('a wrong verifier', { code_verifier: 'x'.repeat(43) }, [400, 'invalid_grant'])
await wrong('no verifier', { code_verifier: '' }, [400, 'invalid_request'])
await wrong('another redirect', { redirect_uri: redirect + '2' }, [400, 'invalid_grant'])
await wrong('another resource', { resource: 'https://other.example/mcp' }, [400, 'invalid_target'])
await wrong('another client', { client_id: other.client_id }, [400, 'invalid_grant'])
await wrong('an unknown client at the token endpoint', { client_id: 'unknown' }, [401, 'invalid_client'])
await wrong('another grant type', { grant_type: 'password' }, [400, 'unsupported_grant_type'])
await probe('an invented code', async () => is(await redeem({ params: new URLSearchParams({ code: 'invented' }), verifier: 'x'.repeat(43) }), [400, 'invalid_grant']))
await probe('a doubled parameter', async () => is(await ask([['grant_type', 'refresh_token'], ['client_id', client.client_id], ['client_id', client.client_id],
  ['refresh_token', 'x']]), [400, 'invalid_request']))
await probe('a body of JSON', async () => {
  const body = JSON.stringify({ grant_type: 'refresh_token', refresh_token: 'x', client_id: client.client_id })
  return is(await ask({}, { body, headers: { 'Content-Type': 'application/json' } }), [400, 'invalid_request'])
})
await probe('a replayed code', async () => {
  const a = await authorized()
  const got = await tokens(as, client, a, redirect)
  const before = (await mcp(got.access_token)).status
  return is([before, await redeem(a)], [200, [400, 'invalid_grant']]) || invalid(got.access_token)
})
await probe('a code that many redeem at once', async () => {
  const a = await authorized()
  const answers = await Promise.all(Array.from({ length: 50 }, () => redeem(a)))
  return is([answers.filter(([status]) => status === 200).length, answers.filter(([, error]) => error === 'invalid_grant').length], [1, 49])
})
await probe('a refresh by another client', async () => {
  const got = await tokens(as, client, await authorized(), redirect)
  return is(await renew(got.refresh_token, { client_id: other.client_id }), [400, 'invalid_grant'])
})
await probe('tokens in each other\'s place', async () => {
  const a = await authorized()
  const code = await invalid(a.params.get('code'))
  const got = await tokens(as, client, a, redirect)
  return code || is(await renew(got.access_token), [400, 'invalid_grant']) || invalid(got.refresh_token)
})
await probe('a token in the query', async () => {
  const got = await tokens(as, client, await authorized(), redirect)
  const answer = await fetch(`${server.url}/v1/memories?access_token=${got.access_token}`)
  return is(answer.status, 401)
})
await probe('an unsafe redirect of a registration', async () => {
  for (const uri of ['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', 'http://other.example/', 'https://user@other.example/', 'https://other.example/#x', 'https://*.example/']) {
    const answer = await fetch(as.registration_endpoint, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ redirect_uris: [uri] }) })
    const fault = is([answer.status, (await answer.json()).error], [400, 'invalid_redirect_uri'])
    if (fault) return `${uri}: ${fault}`
  }
})
await probe('a revoked token', async () => {
  const got = await tokens(as, client, await authorized(), redirect)
  await oauth.processRevocationResponse(await oauth.revocationRequest(as, client, oauth.None(), got.access_token, { [oauth.allowInsecureRequests]: true }))
  return await invalid(got.access_token) || is(await renew(got.refresh_token), [400, 'invalid_grant'])
})
await probe('a grant that the person revoked', async () => {
  const got = await tokens(as, client, await authorized(), redirect)
  for (const grant of (await server.call('GET', '/v1/grants')).grants) await server.call('DELETE', `/v1/grants/${grant.id}`)
  return await invalid(got.access_token) || is(await renew(got.refresh_token), [400, 'invalid_grant'])
})

// ---------------------------------------------------------------- negative probes of time: the server starts later
const stale = await authorized()
const kept = await tokens(as, client, await authorized(), redirect)
const kind = await tokens(as, client, await authorized(), redirect)
const first = await refresh(kept)
await probe('a refresh that comes twice', async () => is(await refresh(kept), first))
await server.restart('3m')
await probe('an expired code', async () => is(await redeem(stale), [400, 'invalid_grant']))
await probe('a refresh token after the grace', async () => is(await renew(kept.refresh_token), [400, 'invalid_grant']))
await probe('the family of a replayed refresh token', async () => is(await renew(first.refresh_token), [400, 'invalid_grant']) || invalid(first.access_token))
await server.restart('61m')
await probe('an expired access token', () => invalid(kind.access_token))
const late = await refresh(kind)
await probe('a refresh after an hour', async () => is((await mcp(late.access_token)).status, 200))
await server.restart('1600h')
// The sweep of that start deletes the registration too, which nobody has used for 7 days.
await probe('a refresh token that was idle for 60 days', async () => {
  const response = await renew(late.refresh_token)
  return is(response, [400, 'invalid_grant']) && is(response, [401, 'invalid_client'])
})

await probe('the log', () => (server.logs.match(/loci_o[ar]t_\w+/) ? 'it has a token' : ''))
await server.stop()
console.log(`oauth: the flow and ${probes - 3} probes by oauth4webapi, ${faults} failed`)
process.exit(faults || probes < 30 ? 1 : 0)

// refresh returns the tokens of a refresh.
async function refresh({ refresh_token }) {
  const answer = await oauth.refreshTokenGrantRequest(as, client, oauth.None(), refresh_token, { [oauth.allowInsecureRequests]: true })
  const { access_token, refresh_token: next } = await oauth.processRefreshTokenResponse(as, client, answer)
  return { access_token, refresh_token: next }
}
