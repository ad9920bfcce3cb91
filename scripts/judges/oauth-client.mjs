// A client of Loci's authorization server, made of oauth4webapi, which validates every answer.
import * as oauth from 'oauth4webapi'

const insecure = { [oauth.allowInsecureRequests]: true } // http on loopback

// newClient walks from the challenge of the endpoint to the registered client. The result has the metadata with the
// resource, and a second client.
export async function newClient(server, redirect) {
  const endpoint = new URL(`${server.url}/mcp`)
  const challenged = await fetch(endpoint, { method: 'POST', body: '{}', headers: { 'Content-Type': 'application/json' } })
  const challenge = challenged.headers.get('www-authenticate') ?? ''
  const metadata = /resource_metadata="([^"]+)"/.exec(challenge)?.[1]
  if (challenged.status !== 401 || !metadata || !challenge.includes('scope="mcp"') || challenge.includes('error=')) {
    throw new Error(`the endpoint answers ${challenged.status} with ${challenge}`)
  }
  const resource = await oauth.processResourceDiscoveryResponse(endpoint, await oauth.resourceDiscoveryRequest(endpoint, insecure))
  if (metadata !== `${server.url}/.well-known/oauth-protected-resource/mcp`) throw new Error(`the challenge names ${metadata}`)
  const issuer = new URL(resource.authorization_servers[0])
  const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { ...insecure, algorithm: 'oauth2' }))
  if (!as.authorization_response_iss_parameter_supported) throw new Error('the metadata does not promise iss')
  const register = async (name) => oauth.processDynamicClientRegistrationResponse(await oauth.dynamicClientRegistrationRequest(as, {
    client_name: name, redirect_uris: [redirect], grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'],
    token_endpoint_auth_method: 'none',
  }, insecure))
  return { as: { ...as, resource: resource.resource }, client: await register('judge'), other: await register('another') }
}

// flow makes an authorization request; changes replace its parameters, and undefined leaves one out.
export async function flow(as, client, redirect, server, state, changes = {}) {
  const verifier = oauth.generateRandomCodeVerifier()
  const parameters = { client_id: client.client_id, redirect_uri: redirect, response_type: 'code', scope: 'mcp', state,
    resource: as.resource, code_challenge: await oauth.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256', ...changes }
  const address = new URL(as.authorization_endpoint)
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) address.searchParams.set(name, value)
  return { verifier, address: address.href }
}

// tokens redeems the code of an answer.
export async function tokens(as, client, { params, verifier }, redirect) {
  const answer = await oauth.authorizationCodeGrantRequest(as, client, oauth.None(), params, redirect, verifier, insecure)
  return oauth.processAuthorizationCodeResponse(as, client, answer)
}

// refused tells why the library accepted something, or refused it for another reason.
export function refused(run, reason) {
  try {
    run()
  } catch (error) {
    return error.message.includes(reason) ? '' : `refused with ${error.message}`
  }
  return 'accepted'
}
