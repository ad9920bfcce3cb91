// Judges the files of memories by programs that others wrote: curl sends and receives the bytes, aws-cli and rclone read
// the bucket (versitygw) that Loci writes, nginx and Caddy stand in front, and libmagic recognizes the types too. The
// configurations, the rights of the bucket and the script of the documentation are what is tested.
//
//   node scripts/judges/files.mjs BINARY [PART...]     (folder, path, host, nginx, caddy; all without a name)
//
// A missing program fails where CI=true, and leaves its part out elsewhere.
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Client, prefix, sha256 } from './files/client.mjs'
import { block, blocks, changed, Curl, find, Gateway, listens, must, run, startCaddy, startNginx } from './files/tools.mjs'
import { compare, corpus, libmagic } from './files/types.mjs'
import { Server, freePort, listen, pause, until } from './server.mjs'

const binary = process.argv[2] && resolve(process.argv[2])
const all = ['folder', 'path', 'host', 'nginx', 'caddy']
const parts = process.argv.length > 3 ? process.argv.slice(3) : all
if (!binary || parts.some((part) => !all.includes(part))) {
  console.error(`usage: files.mjs BINARY [${all.join('|')}]...`)
  process.exit(2)
}

const isRequired = process.env.CI === 'true'
const work = mkdtempSync(join(tmpdir(), 'loci-files-'))
const curl = new Curl(mkdirIn('bodies'))
const MiB = 1 << 20
// The most disagreements with libmagic, in percent of the files. Measured: 5.
const mostDifferent = 8

const faults = []
let checks = 0
let part = ''
function check(good, what) {
  checks++
  if (!good) faults.push(`${part}: ${what}`)
  return good
}

function mkdirIn(name) {
  const path = join(work, name)
  mkdirSync(path)
  return path
}

function file(name, bytes) {
  const path = join(work, name)
  writeFileSync(path, bytes)
  return path
}

const letter = file('letter.txt', 'The database is saved every night at three.\n')
const image = file('image.png', Buffer.concat([Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108020000009077', 'hex'), randomBytes(70_000)]))
const large = file('large.bin', randomBytes(100 * MiB))

// has returns the path of a program. A missing one is a fault or a part left out.
function has(...names) {
  const missing = names.filter((name) => !(name.includes('/') ? existsSync(name) : find(name)))
  if (missing.length === 0) return true
  const text = `${part}: ${missing.join(', ')} missing: run scripts/setup`
  if (isRequired) faults.push(text)
  else console.log(`files: left out: ${text}`)
  return false
}

// refused requires that an upload is refused, and that a download finds nothing.
const refused = (what, answer, statuses) =>
  check(statuses.includes(answer.status), `${what} is answered with ${answer.status}, not ${statuses.join(' or ')}: ${answer.body} ${answer.err}`)

// wholeWay takes a file through all calls, with the attacks on addresses that Loci signs.
async function wholeWay(server, isGone) {
  const client = await Client.connect(server, curl)
  const sum = sha256(readFileSync(letter))
  const { id, uploadUrl, headers, attachment } = await client.announce(letter, { mimeType: 'text/html', fileName: 'Größe "1".txt', sha256: sum })
  check(attachment.status === 'pending', 'an announced file is not pending')
  refused('a confirmation before the upload', await client.confirm(id), [409])
  const longer = file('longer.txt', readFileSync(letter) + '!')
  refused('a longer body', await curl.send(uploadUrl, longer, headers), [403])
  refused('a longer body in chunks', await curl.send(uploadUrl, longer, { ...headers, 'Transfer-Encoding': 'chunked' }), [403])
  refused('another type', await curl.send(uploadUrl, letter, { 'Content-Type': 'text/plain' }), [403])
  refused('another size in the address', await curl.send(uploadUrl.replace('size=', 'size=1'), letter, headers), [403])
  refused('another object', await curl.send(uploadUrl.replace(id, client.memory), letter, headers), [403])
  refused('a download from the address of an upload', await curl.request(uploadUrl), [403])
  refused('an upload', await curl.send(uploadUrl, letter, headers), [200])
  refused('a second upload', await curl.send(uploadUrl, letter, headers), [409])
  const confirmed = (await client.confirm(id)).body.attachment ?? {}
  check(confirmed.status === 'active' && confirmed.size === attachment.size && confirmed.sha256 === sum && confirmed.mimeType.startsWith('text/plain'),
    `the confirmed file is ${JSON.stringify(confirmed)}`)
  refused('an upload after the confirmation', await curl.send(uploadUrl, letter, headers), [409])
  const memory = await server.call('GET', `/v1/memories/${client.memory}`)
  check(memory.attachments?.length === 1 && memory.attachments[0].id === id, 'the memory does not list its file')

  const address = await client.address(id)
  const got = await curl.request(address)
  const head = got.headers
  check(got.status === 200 && got.body.equals(readFileSync(letter)), `a download is answered with ${got.status}`)
  check(head['content-type'] === confirmed.mimeType && head['x-content-type-options'] === 'nosniff' && head['content-security-policy'].startsWith('sandbox') &&
    head['content-disposition'] === `attachment; filename="Gr__e _1_.txt"; filename*=UTF-8''Gr%C3%B6%C3%9Fe%20%221%22.txt` && head['content-length'] === `${got.size}`,
  `the headers of a download are ${JSON.stringify(head)}`)
  const range = await curl.request(address, ['-r', '4-11'])
  check(range.status === 206 && range.body.toString() === 'database' && range.headers['content-range'] === `bytes 4-11/${got.size}`, `a range is ${range.status} ${range.body}`)
  refused('an unchanged file', await curl.request(address, ['-H', `If-None-Match: ${head.etag}`]), [304])
  refused('a longer life', await curl.request(address.replace('expires=', 'expires=9')), [403])
  refused('a deletion at the address', await curl.request(address, ['-X', 'DELETE']), [403, 405])

  const wrong = await client.announce(letter, { sha256: sha256(readFileSync(longer)) })
  await curl.send(wrong.uploadUrl, letter, wrong.headers)
  refused('another checksum', await client.confirm(wrong.id), [409])
  check(await until(() => isGone(wrong.id), 'the object of a refused file').catch(() => false), 'a refused file is not deleted')
  for (const [name, token] of [['a key', server.key], ['no token', '']]) {
    refused(`${name} in place of a file token`, await client.call('GET', `/storage/download-url?attachmentId=${id}`, undefined, token), [401])
  }
  const read = await fetch(`${server.url}/v1/memories/${client.memory}`, { headers: { Authorization: `Bearer ${client.token}` } })
  check(read.status === 401, `a file token reads a memory: ${read.status}`)

  check((await client.remove(id))[0].ok, 'a file is not deleted')
  refused('a download after the deletion', await curl.request(address), [404])
  check(await until(() => isGone(id), 'the object of a deleted file').catch(() => false), 'the bytes of a deleted file stay')
  return client
}

// expiry restarts the server, so that addresses and tokens expire.
async function expiry(server) {
  const client = await Client.connect(server, curl)
  const { uploadUrl, headers } = await client.announce(letter)
  const { id } = await client.upload(letter)
  const address = await client.address(id)
  await server.restart('11m')
  refused('a file token after its end', await client.call('GET', `/storage/download-url?attachmentId=${id}`), [401])
  refused('a download before its end', await curl.request(address), [200])
  await server.restart('16m')
  refused('a download after its end', await curl.request(address), [403])
  await server.restart('61m')
  refused('an upload after its end', await curl.send(uploadUrl, letter, headers), [403])
}

// documented runs the script of docs/files.md.
async function documented(server) {
  const client = await Client.connect(server, curl)
  const copied = file('documented.txt', 'as documented\n')
  const { code, out, err } = await run('bash', ['-c', block('files.md', 'bash')], { env: { LOCI_URL: server.url, LOCI_API_KEY: server.key, MEMORY: client.memory, FILE: copied } })
  check(code === 0 && out.toString().includes('"status":"active"') && out.toString().includes('"ok":true') && existsSync(copied + '.copy'),
    `the script of docs/files.md ends with ${code}: ${out} ${err}`)
}

// types compares the recognized types with those of libmagic.
async function types(server) {
  const paths = await corpus(join(work, 'corpus'))
  const theirs = await libmagic(paths)
  const client = await Client.connect(server, curl)
  const ours = []
  const queue = paths.keys()
  const worker = async () => {
    for (const at of queue) {
      if (at % 90 === 0) client.memory = await client.newMemory() // a memory has at most 100 files
      ours[at] = (await client.upload(paths[at])).mimeType
    }
  }
  await Promise.all(Array.from({ length: 6 }, worker))
  const { differences, equal, kinds } = compare(paths, theirs, ours)
  for (const { path, theirs, ours } of differences) console.log(`files: libmagic says ${theirs}, Loci ${ours}: ${path}`)
  const share = 100 * differences.length / paths.length
  console.log(`files: ${paths.length} files of ${kinds} types: ${equal} have the same name as for libmagic, ${differences.length} another type (${share.toFixed(1)} %)`)
  check(paths.length >= 200 && kinds >= 40, 'the machine has too few files to compare')
  check(share <= mostDifferent, `the types of ${share.toFixed(1)} % of the files differ from those of libmagic, at most ${mostDifferent} % may`)
}

// folder judges files in the data folder.
async function folder() {
  if (!has('curl', 'jq', 'file')) return
  const server = await Server.start(binary, { LOCI_RATE_LIMIT: '0', LOCI_PUBLIC_URL: '' })
  try {
    const stored = () => readdirSync(join(server.folder, 'data/files'), { recursive: true }).map((path) => path.split('/').at(-1))
    await wholeWay(server, (id) => !stored().includes(id))
    await documented(server)
    await types(server)
    await expiry(server)
  } finally {
    await server.stop()
  }
}

// inBucket starts a gateway and a server, and runs f with them.
async function inBucket(parameters, f) {
  if (!has('curl', 'jq', 'aws', 'rclone', join(import.meta.dirname, 's3/versitygw'))) return
  const gateway = await Gateway.start(mkdirIn(`gateway-${part}`), find('aws'))
  const proxy = forwarding(gateway.port)
  const proxyURL = `http://127.0.0.1:${await listen(proxy)}`
  let server
  try {
    server = await Server.start(binary, { LOCI_RATE_LIMIT: '0', LOCI_PUBLIC_URL: '', ...gateway.env(parameters), HTTP_PROXY: proxyURL, http_proxy: proxyURL, NO_PROXY: '',
      no_proxy: '' })
    await f(server, gateway)
  } finally {
    await server?.stop()
    await gateway.stop()
    proxy.closeAllConnections()
    proxy.close()
  }
}

// forwarding is an HTTP proxy to one port: it stands in for a DNS that knows the host names of buckets.
function forwarding(port) {
  return createServer((req, res) => {
    const { pathname, search } = new URL(req.url)
    const onward = request({ host: '127.0.0.1', port, method: req.method, path: pathname + search, headers: req.headers, agent: false }, (answer) => {
      res.writeHead(answer.statusCode, answer.rawHeaders)
      answer.pipe(res)
    })
    onward.on('error', () => res.destroy())
    req.pipe(onward)
  })
}

// otherClients reads by aws-cli and rclone what Loci wrote, and confirms what aws-cli wrote.
async function otherClients(server, gateway) {
  const client = await Client.connect(server, curl)
  const { id } = await client.upload(image)
  const copy = join(work, `copy-${part}`)
  // 20 MiB are several parts of a multipart upload.
  const multipart = file('multipart.png', Buffer.concat([readFileSync(image), randomBytes(20 * MiB)]))
  const confirms = async (path, type) => {
    const { id, attachment } = await client.announce(path)
    await gateway.cli('s3', 'cp', path, `s3://${gateway.object(id)}`, '--content-type', 'text/html', '--no-progress')
    const confirmed = (await client.confirm(id)).body.attachment ?? {}
    check(confirmed.size === attachment.size && confirmed.sha256 === sha256(readFileSync(path)) && confirmed.mimeType.startsWith(type),
      `an object of aws-cli is confirmed as ${JSON.stringify(confirmed)}`)
    check(await client.isEqual(id, path), 'an object of aws-cli is downloaded with other bytes')
  }
  const refuses = async (name, fields) => {
    const { id } = await client.announce(letter, fields)
    await gateway.cli('s3', 'cp', letter, `s3://${gateway.object(id)}`, '--no-progress')
    check(gateway.has(id), 'aws-cli writes no object')
    refused(`an object of aws-cli with another ${name}`, await client.confirm(id), [409])
    check(await until(() => !gateway.has(id), 'the deletion').catch(() => false), `an object with another ${name} is not deleted`)
  }
  const [cp, cat] = await Promise.all([
    gateway.cli('s3', 'cp', `s3://${gateway.object(id)}`, copy, '--no-progress'),
    run(find('rclone'), ['cat', `judge:${gateway.object(id)}`], { env: gateway.rclone('judge') }),
    confirms(letter, 'text/plain'), confirms(image, 'image/png'), confirms(multipart, 'image/png'),
    refuses('size', { size: 3 }), refuses('checksum', { sha256: sha256('other') }),
  ])
  check(cp.code === 0 && readFileSync(copy).equals(readFileSync(image)), `aws-cli reads other bytes: ${cp.err}`)
  check(cat.code === 0 && cat.out.equals(readFileSync(image)), `rclone reads other bytes: ${cat.err}`)
}

// away stops the gateway: files are unavailable, and all else works.
async function away(server, gateway) {
  const client = await Client.connect(server, curl)
  const upload = await client.announce(letter)
  const { id } = await client.upload(letter)
  const address = await client.address(id)
  await gateway.stop()
  refused('a confirmation without the bucket', await client.confirm(upload.id), [503])
  const answer = await curl.request(address)
  check(answer.status === 503 && answer.headers['retry-after'] > 0, `a download without the bucket is answered with ${answer.status} ${JSON.stringify(answer.headers)}`)
  check((await client.remove(id))[0].ok, 'a file is not deleted without the bucket')
  await server.restart()
  check((await server.call('GET', `/v1/memories/${client.memory}`)).attachments.length === 0, 'a server without its bucket does not read memories')
}

// path judges a bucket in the path of the address, with addresses of Loci.
const path = () => inBucket('path=1', async (server, gateway) => {
  await wholeWay(server, (id) => !gateway.has(id))
  await documented(server)
  await otherClients(server, gateway)
  await away(server, gateway)
})

// host judges a bucket in the host name, with addresses of the bucket itself.
const host = () => inBucket('direct=1', async (server, gateway) => {
  const client = await Client.connect(server, curl)
  const expected = `http://${gateway.bucket}.${gateway.host}/${gateway.prefix}/`
  const announce = () => client.announce(letter, { mimeType: 'text/plain', sha256: sha256(readFileSync(letter)) })
  const attacks = {
    'another length': { path: image },
    'another type': { headers: { 'Content-Type': 'text/html' } },
    'another checksum': { headers: { 'X-Amz-Checksum-Sha256': Buffer.from(sha256('other'), 'hex').toString('base64') } },
    'no checksum': { headers: { 'X-Amz-Checksum-Sha256': undefined } },
    'no condition': { headers: { 'If-None-Match': undefined } },
    'another body of this length': { path: file('same-length.txt', readFileSync(letter).map((byte) => byte ^ 1)) },
    'a longer life': { url: (address) => address.replace('Expires=', 'Expires=9') },
    'another object': { url: (address, id) => address.replace(id, client.memory) },
  }
  for (const [name, { path = letter, headers = {}, url = (address) => address }] of Object.entries(attacks)) {
    const upload = await announce()
    check(upload.uploadUrl.startsWith(expected), `an upload goes to ${upload.uploadUrl}`)
    const sent = Object.fromEntries(Object.entries({ ...upload.headers, ...headers }).filter(([, value]) => value !== undefined))
    refused(name, await curl.send(url(upload.uploadUrl, upload.id), path, sent), [400, 403])
    await client.remove(upload.id)
  }
  const { id, uploadUrl, headers } = await announce()
  const preflight = await curl.request(uploadUrl, ['-X', 'OPTIONS', '-H', 'Origin: https://app.example.org', '-H', 'Access-Control-Request-Method: PUT',
    '-H', `Access-Control-Request-Headers: ${Object.keys(headers).map((name) => name.toLowerCase()).filter((name) => name !== 'content-length').sort().join(',')}`])
  check(preflight.status === 200 && preflight.headers['access-control-allow-origin'] === 'https://app.example.org', `a preflight request is answered with ${preflight.status}`)
  refused('the announced upload', await curl.send(uploadUrl, letter, headers), [200])
  refused('a second upload', await curl.send(uploadUrl, letter, headers), [412])
  refused('a download from the address of an upload', await curl.request(uploadUrl), [403])
  const { attachment } = (await client.confirm(id)).body
  check(attachment?.status === 'active' && attachment.mimeType.startsWith('text/plain'), `the confirmed file is ${JSON.stringify(attachment)}`)
  const address = await client.address(id)
  const got = await curl.request(address)
  check(got.status === 200 && got.body.equals(readFileSync(letter)) && got.headers['content-disposition'].startsWith('attachment') &&
    got.headers['content-type'] === 'application/octet-stream', `a download is answered with ${got.status} ${JSON.stringify(got.headers)}`)
  const range = await curl.request(address, ['-r', '4-11'])
  check(range.status === 206 && range.body.toString() === 'database', `a range is answered with ${range.status}`)
  refused('a file that is shown as a page', await curl.request(address.replace('=attachment', '=inline')), [403])
  refused('another type of a download', await curl.request(address.replace('octet-stream', 'html')), [403])
  await documented(server)
  await otherClients(server, gateway)
  check((await client.remove(id))[0].ok, 'a file is not deleted')
  check(await until(() => !gateway.has(id), 'the deletion').catch(() => false), 'the bytes of a deleted file stay')
  refused('a download after the deletion', await curl.request(address), [404])

  // A clock that is behind gives addresses a short rest of their life.
  for (const [name, offset, send] of [
    ['an upload', '-59m56s', async () => { const u = await announce(); return () => curl.send(u.uploadUrl, letter, u.headers) }],
    ['a download', '-14m56s', async () => { const u = await client.upload(letter); const at = await client.address(u.id); return () => curl.request(at) }],
  ]) {
    await server.restart(offset)
    await client.exchange()
    const late = await send()
    if (name === 'a download') refused(`${name} before its end`, await late(), [200])
    await pause(5000)
    refused(`${name} after its end`, await late(), [403])
  }
})

// behindProxy starts a proxy by a configuration of the documentation, and sends large files through it.
async function behindProxy(start) {
  const port = await freePort()
  const origin = `https://loci.example.org:${port}`
  const cert = await certificate()
  const server = await Server.start(binary, { LOCI_RATE_LIMIT: '0', LOCI_PUBLIC_URL: origin, LOCI_TRUSTED_PROXIES: '127.0.0.1' })
  const proxy = start(server.port, port, cert, mkdirIn(part))
  try {
    await listens(port, part, proxy)
    const through = ['--resolve', `loci.example.org:${port}:127.0.0.1`, '--cacert', cert.cert]
    await until(async () => (await curl.request(`${origin}/health`, through)).status === 200, `${part} to answer`)
    const client = await Client.connect(server, curl)
    const { id, uploadUrl, headers } = await client.announce(large)
    check(uploadUrl.startsWith(origin + prefix), `the address of an upload is ${uploadUrl}`)
    refused('an upload of 100 MiB', await curl.send(uploadUrl, large, headers, through), [200])
    check((await client.confirm(id)).body.attachment?.size === 100 * MiB, 'the upload is not confirmed')
    const address = await client.address(id)
    const got = await curl.request(address, through)
    check(got.status === 200 && got.size === 100 * MiB && sha256(got.body) === sha256(readFileSync(large)), `a download of 100 MiB is answered with ${got.status}, ${got.size} bytes`)
    const end = await curl.request(address, [...through, '-r', '-1000'])
    check(end.status === 206 && end.body.equals(readFileSync(large).subarray(-1000)), `a range is answered with ${end.status}, ${end.size} bytes`)
    const middle = await curl.request(address, [...through, '-r', `${50 * MiB}-${60 * MiB}`])
    check(middle.status === 206 && middle.body.equals(readFileSync(large).subarray(50 * MiB, 60 * MiB + 1)), `a range is answered with ${middle.status}, ${middle.size} bytes`)
    refused('a changed address', await curl.request(address.replace('signature=', 'signature=x'), through), [403])
    // The proxy passes bytes as they arrive: a body in chunks that is too long ends before it is sent whole.
    const wrong = await client.announce(letter)
    refused('a longer body', await curl.send(wrong.uploadUrl, large, wrong.headers, through), [403])
    // A running download ends after a deletion.
    const slow = curl.request(address, [...through, '--limit-rate', '8M'])
    await pause(1500)
    await client.remove(id)
    const cut = await slow
    check(cut.size < 100 * MiB, 'a running download goes on after the deletion of its file')
    refused('a download after the deletion', await curl.request(address, through), [404])
    check(!proxy.log.includes('buffered to a temporary file'), `the proxy stores bodies: ${proxy.log}`) // a warning of nginx
  } finally {
    proxy.kill()
    await proxy.ended
    await server.stop()
  }
}

// certificate makes a certificate of the host name in the documentation.
async function certificate() {
  const cert = join(work, 'loci.crt'), key = join(work, 'loci.key')
  if (!existsSync(cert)) {
    await must('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', key, '-out', cert, '-days', '2',
      '-subj', '/CN=loci.example.org', '-addext', 'subjectAltName=DNS:loci.example.org'])
  }
  return { cert, key }
}

async function nginx() {
  if (!has('curl', 'nginx', 'openssl')) return
  await behindProxy((upstream, port, { cert, key }, folder) => {
    const server = changed(blocks('self-hosting.md', 'nginx')[0], { 'listen 443 ssl': `listen 127.0.0.1:${port} ssl`, '/etc/ssl/loci.crt': cert, '/etc/ssl/loci.key': key,
      '127.0.0.1:7007': `127.0.0.1:${upstream}` })
    return startNginx(server, folder)
  })
}

async function caddy() {
  if (!has('curl', 'caddy', 'openssl')) return
  await behindProxy((upstream, port, { cert, key }, folder) => {
    const site = changed(blocks('self-hosting.md', 'caddyfile')[0], { 'loci.example.org {': `https://loci.example.org:${port} {\n    bind 127.0.0.1\n    tls ${cert} ${key}`,
      '127.0.0.1:7007': `127.0.0.1:${upstream}` })
    return startCaddy(site, folder)
  })
}

try {
  for (const [name, run] of Object.entries({ folder, path, host, nginx, caddy })) {
    if (!parts.includes(name)) continue
    part = name
    const began = Date.now()
    await run().catch((error) => faults.push(`${name}: ${error.stack}`))
    console.log(`files: ${name}: ${((Date.now() - began) / 1000).toFixed(1)} s`)
  }
} finally {
  rmSync(work, { recursive: true, force: true })
}
for (const fault of faults) console.log(`files: ${fault}`)
console.log(`files: ${checks} checks, ${faults.length} failed`)
process.exit(faults.length ? 1 : 0)
