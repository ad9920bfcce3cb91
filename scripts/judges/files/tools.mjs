// Programs that the judges of files and of restarts run, and what these need of the documentation.
import { spawn } from 'node:child_process'
import { accessSync, constants, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort, until } from '../server.mjs'

const here = dirname(fileURLToPath(import.meta.url))

// docs is the folder of the documentation.
export const docs = join(here, '../../../docs')

// find returns the path of a program, Debian's before others, or undefined.
export function find(name) {
  for (const folder of ['/usr/bin', '/usr/sbin', ...process.env.PATH.split(delimiter)]) {
    try {
      accessSync(join(folder, name), constants.X_OK)
      return join(folder, name)
    } catch {}
  }
}

// run runs a program, and returns its exit code and its output.
export function run(program, args, { input, env, cwd } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env: { ...process.env, ...env }, cwd, stdio: ['pipe', 'pipe', 'pipe'] })
    const out = [], err = []
    child.stdout.on('data', (part) => out.push(part))
    child.stderr.on('data', (part) => err.push(part))
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, out: Buffer.concat(out), err: Buffer.concat(err).toString() }))
    child.stdin.on('error', () => {})
    child.stdin.end(input)
  })
}

// must is run, and fails with the output of the program.
export async function must(program, args, options) {
  const { code, out, err } = await run(program, args, options)
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}: ${out.toString().slice(-1000)} ${err.slice(-1000)}`)
  return out
}

// blocks returns the fenced blocks of a language in a page of the documentation.
export function blocks(page, language) {
  const text = readFileSync(join(docs, page), 'utf8')
  return [...text.matchAll(new RegExp('^```' + language + '\\n([^]*?)^```$', 'gm'))].map((match) => match[1])
}

// block returns the only such block.
export function block(page, language) {
  const found = blocks(page, language)
  if (found.length !== 1) throw new Error(`docs/${page} has ${found.length} blocks of ${language}, not one`)
  return found[0]
}

// changed returns a text with parts replaced, each of which it must have.
export function changed(text, replacements) {
  for (const [old, by] of Object.entries(replacements)) {
    if (!text.includes(old)) throw new Error(`the documentation lacks ${old}`)
    text = text.replaceAll(old, by)
  }
  return text
}

// A Curl sends requests by curl, and keeps their bodies in a folder.
export class Curl {
  #n = 0

  constructor(folder) { this.folder = folder }

  // request returns {status, headers, path, body}. The status is 0 if there is no response.
  async request(url, args = []) {
    const path = join(this.folder, `body${this.#n++}`)
    for (const name of [path, path + '.head']) writeFileSync(name, '')
    const { out, err } = await run('curl', ['-sS', '--globoff', '--max-time', '60', '-o', path, '-D', path + '.head', '-w', '%{http_code}', ...args, url])
    const status = out.toString()
    const last = readFileSync(path + '.head', 'latin1').trimEnd().split('\r\n\r\n').at(-1) // after 100 Continue
    const headers = Object.fromEntries(last.split('\r\n').slice(1).map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]))
    return { status: Number(status), headers, path, err, get size() { return statSync(path).size }, get body() { return readFileSync(path) } }
  }

  // send sends a file by PUT with these headers. A length is that of the file.
  send(url, path, headers, args = []) {
    const lines = Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'content-length').flatMap(([name, value]) => ['-H', `${name}: ${value}`])
    return this.request(url, ['-T', path, ...lines, ...args])
  }
}

// listens waits until something listens on a port of loopback.
export async function listens(port, what, child) {
  await until(() => {
    if (child.exitCode !== null) throw new Error(`${what} ended with ${child.exitCode}: ${child.log ?? ''}`)
    return new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1', () => { socket.destroy(); resolve(true) })
      socket.on('error', () => resolve(false))
    })
  }, what)
}

// daemon starts a program that ends with the judge.
export function daemon(program, args, env = {}) {
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  child.log = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => { child.log = (child.log + part).slice(-4000) })
  process.once('exit', () => child.kill('SIGKILL'))
  child.ended = new Promise((resolve) => child.once('exit', resolve))
  return child
}

// startNginx starts nginx with an http block, and returns its process, whose log has the warnings.
export function startNginx(http, folder) {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')
  const user = process.getuid?.() === 0 ? 'user root;' : '' // of the workers
  const config = join(folder, 'nginx.conf')
  writeFileSync(config, `${user} daemon off; worker_processes 1; error_log stderr warn; pid ${folder}/pid; events {} http { access_log off; ${temporary}\n${http} }\n`)
  return daemon(find('nginx'), ['-c', config, '-p', folder])
}

// startCaddy starts Caddy with a site, and returns its process.
export function startCaddy(site, folder) {
  const config = join(folder, 'Caddyfile')
  writeFileSync(config, `{\n    admin off\n    auto_https disable_redirects\n}\n${site}`)
  return daemon(find('caddy'), ['run', '--config', config, '--adapter', 'caddyfile'], { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder })
}

// A Gateway is versitygw over a folder, and a user with the rights of the documentation alone.
export class Gateway {
  static root = { access: 'judge-root', secret: 'judge-root-secret' }
  static user = { access: 'judge-user', secret: 'judge-user-secret' }
  bucket = 'judge-files'
  prefix = 'a/b'

  static async start(folder, aws) {
    const gateway = new Gateway()
    gateway.aws = aws
    gateway.port = await freePort()
    gateway.url = `http://127.0.0.1:${gateway.port}`
    gateway.host = `localhost:${gateway.port}`
    const program = join(here, '../s3/versitygw')
    const folders = Object.fromEntries(['objects', 'sidecar', 'iam', 'home'].map((name) => [name, join(folder, name)]))
    for (const path of Object.values(folders)) mkdirSync(path, { recursive: true })
    Object.assign(gateway, { home: folders.home, folder: folders.objects })
    const { root, user } = Gateway
    gateway.child = daemon(program, ['--access', root.access, '--secret', root.secret, '--port', `127.0.0.1:${gateway.port}`, '--quiet', '--iam-dir', folders.iam,
      '--virtual-domain', gateway.host, 'posix', '--sidecar', folders.sidecar, folders.objects])
    await listens(gateway.port, 'versitygw', gateway.child)
    await must(program, ['admin', '--access', root.access, '--secret', root.secret, '--endpoint-url', gateway.url, 'create-user', '--access', user.access,
      '--secret', user.secret, '--role', 'user'])
    await gateway.s3api('create-bucket', '--bucket', gateway.bucket)
    const [rights, cors] = blocks('self-hosting.md', 'json')
    const policy = JSON.parse(changed(rights, { BUCKET: gateway.bucket, PREFIX: gateway.prefix }))
    for (const statement of policy.Statement) statement.Principal = { AWS: [user.access] } // a policy of a bucket names who has the rights
    await gateway.s3api('put-bucket-policy', '--bucket', gateway.bucket, '--policy', JSON.stringify(policy))
    await gateway.s3api('put-bucket-cors', '--bucket', gateway.bucket, '--cors-configuration', cors)
    return gateway
  }

  // env is the environment of Loci for an address of the bucket with these parameters.
  env(parameters) {
    return { LOCI_BLOBS: `s3://${this.bucket}/${this.prefix}?endpoint=http://${this.host}&${parameters}`, ...keys(Gateway.user) }
  }

  object(id) { return `${this.bucket}/${this.prefix}/${id}` }

  // cli runs aws-cli as the owner of the bucket, and ends with its exit code.
  cli(...args) {
    const env = { ...keys(Gateway.root), AWS_EC2_METADATA_DISABLED: 'true', HOME: this.home, AWS_PAGER: '' }
    return run(this.aws, ['--endpoint-url', this.url, ...args], { env, cwd: this.home })
  }

  // rclone is the environment in which rclone knows the gateway by a name.
  rclone(name) {
    const setting = `RCLONE_CONFIG_${name.toUpperCase()}`
    return { AWS_CA_BUNDLE: undefined, RCLONE_CONFIG: '/dev/null', [`${setting}_TYPE`]: 's3', [`${setting}_PROVIDER`]: 'Other', [`${setting}_ENDPOINT`]: this.url,
      [`${setting}_ACCESS_KEY_ID`]: Gateway.root.access, [`${setting}_SECRET_ACCESS_KEY`]: Gateway.root.secret, [`${setting}_REGION`]: 'us-east-1' }
  }

  async s3api(...args) {
    const { code, out, err } = await this.cli('s3api', ...args)
    if (code !== 0) throw new Error(`aws s3api ${args[0]} ended with ${code}: ${err}`)
    return out.length ? JSON.parse(out) : undefined
  }

  // has reports whether the bucket has an object.
  has(id) { return existsSync(join(this.folder, this.object(id))) }

  async stop() {
    this.child.kill()
    await this.child.ended
  }
}

// keys returns the variables of AWS, and none of the machine's.
function keys({ access, secret }) {
  return { AWS_CA_BUNDLE: undefined, AWS_ACCESS_KEY_ID: access, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: undefined, AWS_REGION: 'us-east-1', AWS_DEFAULT_REGION: 'us-east-1',
    AWS_ENDPOINT_URL: undefined, AWS_ENDPOINT_URL_S3: undefined, AWS_PROFILE: undefined, AWS_CONFIG_FILE: '/dev/null', AWS_SHARED_CREDENTIALS_FILE: '/dev/null' }
}
