// Walks through the pages of Loci in Chromium, with scripts and without: setup, sign-in, registration, invitation,
// verification, a forgotten password, the connection of a program by OAuth. axe-core judges each page in light and dark
// colors.
//
//   node scripts/judges/pages.mjs BINARY [FOLDER]   (FOLDER gets a picture of each page)
//
// Chromium is Debian's, or CHROMIUM names another one. A mailbox on loopback gets the mails.
import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer as createHTTP } from 'node:http'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'

const [binary, pictures] = process.argv.slice(2)
if (!binary) {
  console.error('usage: pages.mjs BINARY [FOLDER]')
  process.exit(2)
}
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const password = 'correct horse battery'
const evilName = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
let checks = 0
let failures = 0

function check(good, what) {
  checks++
  if (good) return
  failures++
  console.error(`pages: ${what}`)
}

// listen starts a server on a free port of loopback.
function listen(server) {
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server.address().port)))
}

// A Mailbox accepts all mails by SMTP (RFC 5321) without encryption.
class Mailbox {
  mails = []
  server = createServer((socket) => {
    let text = ''
    let data = false
    const say = (line) => socket.write(`${line}\r\n`)
    socket.on('error', () => {})
    socket.on('data', (part) => {
      text += part
      for (;;) {
        if (data) {
          const end = text.indexOf('\r\n.\r\n')
          if (end < 0) return
          this.mails.push(text.slice(0, end))
          text = text.slice(end + 5)
          data = false
          say('250 accepted')
          continue
        }
        const end = text.indexOf('\r\n')
        if (end < 0) return
        const verb = text.slice(0, end).slice(0, 4).toUpperCase()
        text = text.slice(end + 2)
        data = verb === 'DATA'
        say(data ? '354 go on' : verb === 'QUIT' ? '221 bye' : '250 ok')
      }
    })
    say('220 mailbox')
  })

  // link waits for the newest mail to an address with a link to a page, and returns the link.
  async link(to, page) {
    for (const deadline = Date.now() + 20_000; Date.now() < deadline; await new Promise((r) => setTimeout(r, 100))) {
      for (const mail of this.mails.toReversed()) {
        const plain = mail.replace(/=\r\n/g, '').replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)))
        const found = new RegExp(`https?://[^\\s"<>]*${page}\\?[^\\s"<>]+`).exec(plain)
        if (plain.includes(to) && found) return found[0].replaceAll('&amp;', '&')
      }
    }
    throw new Error(`no mail to ${to} with a link to ${page} among ${this.mails.length}`)
  }
}

// serve starts Loci with an empty database, and returns its address, the setup link and a function that stops it.
async function serve(mailPort) {
  const folder = mkdtempSync(join(tmpdir(), 'loci-pages-'))
  const env = { ...process.env, HOME: folder, LOCI_REGISTRATION: 'open', LOCI_SIGNIN_LIMIT: '0', LOCI_LOG_LEVEL: 'warn', LOCI_DRAIN: '0', LOCI_CONSOLE: 'off',
    LOCI_SMTP_URL: `smtp://127.0.0.1:${mailPort}?from=loci@example.com` }
  const child = spawn(binary, ['serve', '--data', join(folder, 'data'), '--listen', '127.0.0.1:0'], { env })
  let out = ''
  const ended = new Promise((resolve) => child.on('exit', resolve))
  const setup = await new Promise((resolve, reject) => {
    child.stderr.on('data', (text) => { out += text })
    child.stdout.on('data', (text) => {
      out += text
      const link = /(http\S+)\/setup\?token=\S+/.exec(out)
      if (link) resolve(link)
    })
    ended.then(() => reject(new Error(`loci serve has ended: ${out}`)))
  })
  return {
    setup: setup[0], url: setup[1],
    async stop() {
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true })
    },
  }
}

// A Visitor is a browser with its own cookies.
class Visitor {
  static async open(browser, url, scripts) {
    const v = new Visitor()
    Object.assign(v, { url, scripts })
    v.context = await browser.newContext({ javaScriptEnabled: scripts, viewport: { width: 1000, height: 900 } })
    await v.newTab()
    return v
  }

  // newTab replaces the tab. One whose page has opened a program by its scheme may take no input any more.
  async newTab() {
    await this.page?.close()
    this.page = await this.context.newPage()
    this.page.on('dialog', (d) => { check(false, `a dialog opens: ${d.message()}`); d.dismiss() })
    this.page.on('pageerror', (e) => check(false, `a script fails: ${e}`))
    this.page.on('console', (m) => {
      // Chromium also reports the status of each refusal.
      // Nor does it have a program that opens cursor: links.
      const known = m.text().startsWith('Failed to load resource') || m.text().startsWith("Failed to launch 'cursor:")
      if (m.type() === 'error' && !known) check(false, `console: ${m.text()}`)
    })
  }

  text() { return this.page.locator('main').innerText() }

  // see judges the page, which must have a heading and texts.
  async see(name, heading, ...texts) {
    const where = `${name}${this.scripts ? '' : ' without scripts'}`
    const h1 = await this.page.locator('h1').innerText().catch(() => '')
    check(h1.includes(heading), `${where}: the heading is "${h1}", not "${heading}": ${this.page.url()}`)
    const text = await this.text().catch(() => '')
    for (const one of texts) check(text.includes(one), `${where}: no "${one}" in ${text}`)
    check(!(await this.page.evaluate(() => window.hacked)), `${where}: a script of a name has run`)
    for (const colorScheme of ['light', 'dark']) {
      await this.page.emulateMedia({ colorScheme })
      if (colorScheme === 'light') await this.judge(where)
      else if (this.scripts) await this.judge(`${where} in dark colors`, ['color-contrast'])
      if (pictures && this.scripts) await this.page.screenshot({ path: join(pictures, `${name}-${colorScheme}.png`), fullPage: true })
    }
    await this.page.emulateMedia({ colorScheme: 'light' })
    await this.page.setViewportSize({ width: 320, height: 700 })
    const width = await this.page.evaluate(() => document.documentElement.scrollWidth)
    check(width <= 320, `${where}: it is ${width} pixels wide on a screen of 320`)
    if (pictures && this.scripts) await this.page.screenshot({ path: join(pictures, `${name}-narrow.png`), fullPage: true })
    await this.page.setViewportSize({ width: 1000, height: 900 })
  }

  // judge runs rules of axe-core, or all. The browser evaluates it outside the policy of the page.
  async judge(where, rules) {
    const page = this.scripts ? this.page : await this.copy()
    if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe)
    const { violations, passes } = await page.evaluate((runOnly) =>
      window.axe.run(document, { resultTypes: ['violations'], ...runOnly && { runOnly } }), rules)
    check(passes.length > 0, `${where}: axe-core has judged nothing`)
    for (const v of violations) {
      check(false, `${where}: ${v.id}: ${v.help}: ${v.nodes.map((n) => n.html + ' ' + n.failureSummary).join('; ')}`)
    }
    checks += passes.length
  }

  // copy returns a copy of a page that was loaded without scripts, in which axe-core can run.
  async copy() {
    if (!this.copied) {
      this.copied = await this.context.browser().newPage({ viewport: { width: 1000, height: 900 } })
      await this.copied.goto(this.url + '/health') // for the address of the style sheet
    }
    await this.copied.setContent((await this.page.content()).replace(/<script.*?<\/script>/gs, ''))
    return this.copied
  }

  open(path) { return this.page.goto(path.startsWith('http') ? path : this.url + path) }

  // fill fills fields by their labels, and presses a button. Without the browser's own checks the server's are seen.
  async send(button, fields = {}, { unchecked = false } = {}) {
    for (const [label, value] of Object.entries(fields)) await this.page.getByLabel(label).fill(value)
    if (unchecked) await this.page.evaluate(() => { for (const f of document.forms) f.noValidate = true })
    await this.leave(this.page.getByRole('button', { name: button, exact: true }))
  }

  async follow(link) {
    await this.leave(this.page.getByRole('link', { name: link, exact: true }))
  }

  // leave clicks what leads to another page. The load event need not come where that page opens a program.
  async leave(element) {
    await Promise.all([this.page.waitForEvent('framenavigated'), element.click()])
    await this.page.waitForLoadState('domcontentloaded')
  }
}

async function call(method, url, key, path, body) {
  const res = await fetch(url + path, { method, body: JSON.stringify(body),
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' } })
  const answer = await res.json()
  if (!res.ok) throw new Error(`${path}: ${JSON.stringify(answer)}`)
  return answer
}

async function walk(browser, scripts) {
  const mailbox = new Mailbox()
  const server = await serve(await listen(mailbox.server))
  const visitor = () => Visitor.open(browser, server.url, scripts)
  try {
    const stranger = await visitor()
    await stranger.open('/')
    await stranger.see('home', 'Loci', 'Create one', '/mcp')

    // The first account, its key, sign-out and sign-in.
    const ann = await visitor()
    await ann.open('/setup?token=wrong')
    await ann.see('setup-refused', 'This setup link does not work')
    await ann.open(server.setup)
    await ann.see('setup', 'Welcome to Loci')
    await ann.send('Create account and key', { 'E-mail': 'ann@example.com', Password: 'short' }, { unchecked: true })
    await ann.see('setup-field', 'Welcome to Loci', 'Password must have at least 10 characters.')
    check(await ann.page.getByLabel('E-mail').inputValue() === 'ann@example.com', 'the address is lost')
    check(await ann.page.getByLabel('Password').inputValue() === '', 'the password is shown')
    await ann.send('Create account and key', { Name: evilName, Password: password })
    await ann.see('setup-done', 'Your Loci', 'Copy it now', 'loci login ' + server.url)
    const key = await ann.page.locator('#key').innerText()
    check(await ann.page.getByRole('button', { name: 'Copy' }).count() === (scripts ? 3 : 0), 'the buttons that copy')
    await ann.send('Sign out')
    await ann.open('/signin')
    await ann.see('signin', 'Sign in to Loci', 'Forgot your password?')
    await ann.send('Sign in', { 'E-mail': 'ann@example.com', Password: 'wrong' })
    await ann.see('signin-refused', 'Sign in to Loci', 'The address or the password is wrong.')
    await ann.send('Sign in', { Password: password })
    await ann.see('home-signed-in', 'Your Loci', 'Signed in as ann@example.com')
    await ann.send('Create an API key', { Name: 'laptop' })
    await ann.see('key', 'Your Loci', 'Create another API key')

    // An invited person without an account registers, and accepts.
    const team = (await call('POST', server.url, key, '/v1/workspaces', { name: evilName })).workspace.id
    await call('POST', server.url, key, `/v1/workspaces/${team}/invitations`, { emails: ['bob@example.com', 'ann2@example.com'] })
    const link = await mailbox.link('bob@example.com', '/invite')
    const bob = await visitor()
    await bob.open('/invite?id=1&token=2')
    await bob.see('invite-unknown', 'This link has no invitation')
    await bob.open(link)
    await bob.see('invite', 'invites you to', evilName)
    await bob.follow('Create an account')
    await bob.see('register-invited', 'Create an account', evilName)
    await bob.send('Create the account', { Name: 'Bob', Password: password })
    await bob.see('invite-signed-in', 'invites you to', 'You are signed in as bob@example.com')
    await bob.send('Accept')
    await bob.see('invite-accepted', 'Your Loci', 'You are now a member of', evilName)
    await bob.open(link)
    await bob.see('invite-closed', 'This invitation was accepted')

    // Somebody registers, verifies the address, declines an invitation after signing in.
    const other = await visitor()
    await other.open((await call('GET', server.url, key, '/v1/referrals/me')).url)
    await other.see('register', 'Create an account')
    await other.send('Create the account', { 'E-mail': 'ann@example.com', Password: password })
    await other.see('register-taken', 'Create an account', 'There is an account with this address already')
    await other.send('Create the account', { 'E-mail': 'ann2@example.com', Password: password })
    await other.see('home-unverified', 'Your Loci', 'Confirm your address')
    await other.send('Send it again')
    await other.see('resend', 'Your Loci', 'We sent the link to ann2@example.com')
    const verify = await mailbox.link('ann2@example.com', '/verify')
    await other.open(verify)
    await other.see('verify', 'Confirm your address')
    await other.open(verify) // by the scanner of a mailbox: nothing is used up
    await other.send('Confirm the address')
    await other.see('verify-done', 'Your address is confirmed', 'What comes next')
    await other.open(verify)
    await other.see('verify-used', 'This link does not work')
    await other.open('/')
    check(!(await other.text()).includes('Confirm your address'), 'the start page asks for the address again')
    await other.send('Sign out')
    await other.open(await mailbox.link('ann2@example.com', '/invite'))
    await other.follow('Sign in')
    await other.send('Sign in', { Password: password })
    await other.send('Decline')
    await other.see('invite-declined', 'Your Loci', 'You declined the invitation')

    check((await call('GET', server.url, key, '/v1/referrals/me')).invitees.length === 1, 'the referral is lost')

    // A forgotten password.
    const forgetful = await visitor()
    await forgetful.open('/signin')
    await forgetful.follow('Forgot your password?')
    await forgetful.see('forgot', 'Forgot your password?')
    await forgetful.send('Send the link', { 'E-mail': 'bob@example.com' })
    await forgetful.see('forgot-done', 'Look into your mailbox')
    const reset = await mailbox.link('bob@example.com', '/reset')
    await forgetful.open(reset)
    await forgetful.see('reset', 'Choose a new password')
    await forgetful.send('Save the password', { 'New password': 'short' }, { unchecked: true })
    await forgetful.see('reset-field', 'Choose a new password', 'Password must have at least 10 characters.')
    await forgetful.send('Save the password', { 'New password': password + ' staple' })
    await forgetful.see('reset-done', 'You have a new password')
    await forgetful.open(reset)
    await forgetful.see('reset-used', 'This link does not work')
    await forgetful.follow('Send a new link')
    await forgetful.open('/signin?next=https://evil.example/')
    await forgetful.send('Sign in', { 'E-mail': 'bob@example.com', Password: password + ' staple' })
    check(forgetful.page.url() === server.url + '/', `the sign-in leads to ${forgetful.page.url()}`)
    await bob.open('/')
    check((await bob.text()).includes('Sign in'), 'a reset leaves the other browser signed in')

    await connect(visitor, server.url, key)
    await attack(ann, server.url)
  } finally {
    await server.stop()
    mailbox.server.close()
  }
}

// A Program is an OAuth client on this device, which listens on loopback.
class Program {
  static async register(url, name, { host = '127.0.0.1', redirect = '' } = {}) {
    const p = new Program()
    p.calls = []
    p.server = createHTTP((req, res) => {
      if (req.url.startsWith('/back?')) { // not the icon of the page
        p.calls.push(Object.fromEntries(new URL(req.url, 'http://localhost').searchParams))
        check(!req.headers.referer, `the program gets the referrer ${req.headers.referer}`)
      }
      res.setHeader('Content-Type', 'text/html')
      res.end('<title>program</title><h1>Back in the program</h1>')
    })
    p.redirect = redirect || `http://${host}:${await listen(p.server)}/back`
    const res = await fetch(url + '/oauth/register', { method: 'POST', headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ client_name: name, redirect_uris: [p.redirect], token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] }) })
    p.id = (await res.json()).client_id
    check(res.status === 201 && p.id, `the registration answers ${res.status}`)
    return Object.assign(p, { url })
  }

  // address returns the address to which the program sends a browser.
  address(change = {}) {
    this.verifier = randomBytes(32).toString('base64url')
    this.state = randomBytes(8).toString('base64') + ' &%ü'
    return this.url + '/oauth/authorize?' + new URLSearchParams({ response_type: 'code', client_id: this.id, scope: 'mcp',
      redirect_uri: this.redirect, code_challenge: createHash('sha256').update(this.verifier).digest('base64url'),
      code_challenge_method: 'S256', state: this.state, resource: this.url + '/mcp', ...change })
  }

  // answer returns the answer that a browser brought back.
  answer() {
    check(this.calls.length === 1, `the program gets ${this.calls.length} answers`)
    const answer = this.calls.pop() ?? {}
    check(answer.state === this.state && answer.iss === this.url, `the answer is ${JSON.stringify(answer)}`)
    return answer
  }

  // redeem exchanges a code for an access token.
  async redeem(code) {
    const res = await fetch(this.url + '/oauth/token', { method: 'POST', body: new URLSearchParams({
      grant_type: 'authorization_code', code, client_id: this.id, redirect_uri: this.redirect, code_verifier: this.verifier }) })
    const tokens = await res.json()
    check(res.status === 200 && tokens.access_token, `the token endpoint answers ${res.status} ${tokens.error}`)
    return tokens.access_token
  }
}

// tool calls a tool over MCP with a token.
async function tool(url, token, name, args) {
  const res = await fetch(url + '/mcp', { method: 'POST', headers: { Authorization: `Bearer ${token}`,
    'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2025-11-25' },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }) })
  const answer = await res.json()
  return { status: res.status, text: answer.result?.content?.[0]?.text ?? JSON.stringify(answer), failed: answer.result?.isError }
}

// connect connects programs by their requests: sign-in, consent, answers of all kinds, faults.
async function connect(visitor, url, key) {
  const team = (await call('POST', url, key, '/v1/workspaces', { name: 'Harbor' })).workspace
  const program = await Program.register(url, evilName, { host: 'localhost' })
  const ann = await visitor()
  await ann.open(program.address())
  await ann.see('connect-signin', 'Sign in to Loci', evilName)
  await ann.follow('Create one')
  await ann.see('connect-register', 'Create an account', evilName)
  await ann.follow('Sign in')
  await ann.follow('Forgot your password?')
  await ann.follow('Back to the sign-in')
  await ann.send('Sign in', { 'E-mail': 'ann@example.com', Password: 'wrong' })
  await ann.see('connect-refused', 'Sign in to Loci', evilName, 'The address or the password is wrong.')
  await ann.send('Sign in', { Password: password })
  await ann.see('consent', evilName, 'Signed in as ann@example.com', 'Loci has not verified this program', 'Harbor',
    'a program on this device', new URL(program.redirect).host)
  check(await ann.page.getByRole('checkbox', { checked: true }).count() === 0, 'a workspace is ticked')
  await ann.send('Allow')
  await ann.see('consent-none', evilName, 'Choose at least one workspace, or deny the request.')
  check(program.calls.length === 0, 'the program gets an answer without a workspace')
  await ann.page.getByLabel('Harbor').check()
  await ann.send('Allow')
  check((await ann.page.locator('h1').innerText()) === 'Back in the program', `Allow leads to ${ann.page.url()}`)
  const token = await program.redeem(program.answer().code)

  // The program reaches the ticked workspace and no other.
  const listed = await tool(url, token, 'workspace_list', {})
  check(listed.status === 200 && listed.text.includes(team.id) && JSON.parse(listed.text).workspaces.length === 1,
    `the program lists ${listed.text}`)
  const stored = await tool(url, token, 'memory_create', { content: 'The harbor opens at six.' })
  const inTeam = await tool(url, token, 'memory_list', { workspace_id: team.id })
  check(!stored.failed && inTeam.text.includes(JSON.parse(stored.text).memory.id), `the program stores ${stored.text}`)
  const found = await call('POST', url, key, '/v1/memories/search', { query: 'harbor' })
  check(found.memories.length === 1, `ann finds ${JSON.stringify(found)}`)
  check((await fetch(url + '/v1/api-keys', { headers: { Authorization: `Bearer ${token}` } })).status === 403, 'the program lists keys')

  // Another account is asked anew, and so is the browser's button back. A denial is an answer too.
  await ann.open(program.address())
  await ann.send('Use another account')
  await ann.see('connect-switch', 'Sign in to Loci', evilName)
  await ann.send('Sign in', { 'E-mail': 'ann2@example.com', Password: password })
  await ann.see('consent-only', evilName, 'Signed in as ann2@example.com', 'Yours alone')
  check(await ann.page.getByRole('checkbox', { checked: true }).count() === 1, 'the only workspace is not ticked')
  await ann.send('Deny')
  check(program.answer().error === 'access_denied', 'a denial is no denial')
  await ann.page.goBack()
  await ann.see('consent-back', evilName, 'Signed in as ann2@example.com')
  await ann.send('Allow')
  check(program.answer().code, 'after the button back there is no code')

  // A program with a scheme of its own: the browser stays on a page.
  const editor = await Program.register(url, 'An editor', { redirect: 'cursor://anysphere.cursor-mcp/oauth/callback' })
  for (const [button, param, text] of [['Allow', 'code=', 'You allowed the access.'], ['Deny', 'error=access_denied', 'You denied the access.']]) {
    await ann.open(editor.address())
    await ann.see('consent-scheme', 'An editor', 'a program on this device that opens cursor: links')
    await ann.send(button)
    await ann.see(`end-${button.toLowerCase()}`, 'You may close this window', text)
    const link = await ann.page.getByRole('link', { name: 'Back to An editor' }).getAttribute('href')
    check(link.startsWith(editor.redirect + '?' + param) && link.includes('&iss='), `the end leads to ${link}`)
    await ann.newTab()
  }

  // Faults: of a known program they go back, of others they get a page.
  await ann.open(program.address({ scope: 'admin' }))
  check(program.answer().error === 'invalid_scope', 'a wrong scope is no fault')
  for (const [name, address] of [['connect-unknown', program.address({ client_id: 'nobody' })],
    ['connect-redirect', program.address({ redirect_uri: 'https://evil.example/' })],
    ['connect-incomplete', '/oauth/authorize'], ['connect-changed', '/oauth/authorize?request=e30.x']]) {
    await ann.open(address)
    await ann.see(name, 'The program cannot be connected', 'start again there')
    check(ann.page.url().startsWith(url), `${name}: ${ann.page.url()}`)
  }
  check(program.calls.length === 0, 'a faulty request has an answer')
  program.server.close()
  editor.server.close()
}

// attack opens a page of another site, which frames a page of Loci and sends a form to it with the visitor's cookie.
async function attack(victim, url) {
  const evil = createHTTP((_, res) => {
    res.setHeader('Content-Type', 'text/html')
    res.end(`<title>evil</title><iframe src="${url}/"></iframe><iframe src="${url}/oauth/authorize"></iframe>
      <form method="post" action="${url}/key"><input name="name" value="stolen"><input name="idempotencyKey" value="1">
      <button>Win</button></form>`)
  })
  const port = await listen(evil)
  const page = await victim.context.newPage() // its console reports the refused frame
  for (const host of ['localhost', '127.0.0.1']) { // another site, and another origin of the same site
    await page.goto(`http://${host}:${port}/`)
    for (const frame of page.frames().slice(1)) {
      const framed = await frame.content()
      check(!framed.includes('Your Loci') && !framed.includes('cannot be connected'), `${host}: a foreign page frames ${frame.url()}`)
    }
    await Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: 'Win' }).click()])
    const text = await page.locator('body').innerText()
    check(text.includes('another site sent this form') && !text.includes('loci_live_'), `${host}: a foreign form works: ${text}`)
  }
  await page.close()
  evil.close()
}

if (pictures) mkdirSync(pictures, { recursive: true })
const args = process.getuid() === 0 ? ['--no-sandbox'] : [] // Chromium has no sandbox for root
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args })
try {
  await Promise.all([walk(browser, true), walk(browser, false)])
} finally {
  await browser.close()
}
console.log(`pages: ${checks} checks, ${failures} failed`)
process.exit(failures > 0 ? 1 : 0)
