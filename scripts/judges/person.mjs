// Plays the person who connects a client: opens the address of an authorization request over HTTP as a browser does,
// signs in, ticks workspaces and answers the question of consent.
//
//   node scripts/judges/person.mjs [--print] ADDRESS
//
// As a program it opens the final address too, which ends at the client's listener on loopback; --print prints the
// address instead. LOCI_PERSON_EMAIL, LOCI_PERSON_PASSWORD and LOCI_PERSON_WORKSPACES (ids, by comma) name the person.
// As BROWSER of a client program it writes the addresses to the file LOCI_PERSON_LOG.
import { appendFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'parse5'

export class Person {
  #cookies = new Map()
  steps = [] // "method path status" of each request

  constructor({ email, password, workspaces = [], account = false }) {
    Object.assign(this, { email, password, workspaces, account })
  }

  // authorize answers an authorization request, and returns the address to which the server sends the browser back.
  async authorize(address, decision = 'allow') {
    const origin = new URL(address).origin
    let page = await this.open(address)
    for (let pages = 0; pages < 6; pages++) {
      if (page.away) return page.away
      const form = forms(page.html).find((f) => f.method === 'post' && f.names.some((n) => n === 'password' || n === 'decision'))
      if (!form || page.status >= 400) throw new Error(`the person is stuck at ${page.address} (${page.status}): ${text(page.html)}`)
      const target = new URL(form.action || page.address, page.address)
      if (target.origin !== origin) throw new Error(`a form leads to ${target}`)
      page = await this.open(target.href, this.#fill(form, decision))
    }
    throw new Error(`no end of pages: ${this.steps.join(', ')}`)
  }

  // open sends a request, and follows redirects while they stay on the server.
  async open(address, form) {
    const origin = new URL(address).origin
    for (let hops = 0; hops < 10; hops++) {
      const answer = await this.send(address, {}, form)
      for (const cookie of answer.headers.getSetCookie()) this.#keep(cookie)
      const html = await answer.text()
      const location = answer.headers.get('location') ?? refresh(answer)
      if (!location) return { status: answer.status, address, html, headers: answer.headers }
      const next = new URL(location, address)
      if (next.origin !== origin) return { away: location, status: answer.status, headers: answer.headers }
      address = next.href
      form = undefined
    }
    throw new Error(`too many redirects: ${this.steps.join(', ')}`)
  }

  // send sends one request with further headers.
  async send(address, headers, form) {
    const all = { ...this.#headers(new URL(address).origin, form), ...headers }
    const answer = await fetch(address, { method: form ? 'POST' : 'GET', redirect: 'manual', headers: all, body: form?.toString() })
    this.steps.push(`${form ? 'POST' : 'GET'} ${new URL(address).pathname} ${answer.status}`)
    return answer
  }

  #headers(origin, form) {
    const headers = { 'User-Agent': 'Mozilla/5.0 (judge)', Accept: 'text/html', Cookie: [...this.#cookies].map(([k, v]) => `${k}=${v}`).join('; ') }
    if (!form) return headers
    return { ...headers, 'Content-Type': 'application/x-www-form-urlencoded', Origin: origin, 'Sec-Fetch-Site': 'same-origin', 'Sec-Fetch-Mode': 'navigate' }
  }

  #keep(cookie) {
    const [, name, value] = /^([^=;]+)=([^;]*)/.exec(cookie)
    if (value && !/max-age=0/i.test(cookie)) this.#cookies.set(name, value)
    else this.#cookies.delete(name)
  }

  // #fill fills the fields as the person does; hidden ones travel as they are.
  #fill(form, decision) {
    const fields = new URLSearchParams()
    const offered = form.fields.filter((f) => f.type === 'checkbox').map((f) => f.value)
    const wanted = this.workspaces.length ? this.workspaces : offered.slice(0, 1)
    if (offered.length) {
      for (const id of wanted) if (!offered.includes(id)) throw new Error(`the page offers ${offered}, not ${id}`)
    }
    for (const { name, type, value } of form.fields) {
      if (type === 'email') fields.append(name, this.email)
      else if (type === 'password') fields.append(name, this.password)
      else if (type === 'radio') value === (this.account ? 'account' : 'workspaces') && fields.append(name, value)
      else if (type === 'checkbox') wanted.includes(value) && fields.append(name, value)
      else if (type !== 'submit' || (name === 'decision' && value === decision)) name && fields.append(name, value)
    }
    return fields
  }
}

// refresh returns the address of a Refresh header, which leads to a private-use scheme from the last page.
function refresh(answer) {
  return /^\s*\d+\s*;\s*url=(.+)$/i.exec(answer.headers.get('refresh') ?? '')?.[1]
}

function* nodes(node) {
  yield node
  for (const child of node.childNodes ?? []) yield* nodes(child)
}

const attributes = (node) => Object.fromEntries((node.attrs ?? []).map(({ name, value }) => [name, value]))

// forms returns the forms of a page with their fields; a button counts as a field.
export function forms(html) {
  return [...nodes(parse(html))].filter((node) => node.nodeName === 'form').map((form) => {
    const fields = [...nodes(form)].filter((n) => ['input', 'button', 'select', 'textarea'].includes(n.nodeName)).map((n) => {
      const { name = '', type = n.nodeName === 'button' ? 'submit' : 'text', value = type === 'checkbox' ? 'on' : '' } = attributes(n)
      return { name, type, value }
    })
    const { method = 'get', action = '' } = attributes(form)
    return { method: method.toLowerCase(), action, fields, names: fields.map((f) => f.name) }
  })
}

// text returns the visible words of a page.
export function text(html) {
  const words = [...nodes(parse(html))].filter((n) => n.nodeName === '#text' && !['script', 'style'].includes(n.parentNode.nodeName))
  return words.map((n) => n.value).join(' ').replace(/\s+/g, ' ').trim().slice(0, 1000)
}

// deliver opens the client's address. A person needs seconds to sign in, in which a client begins to listen.
async function deliver(address) {
  for (let tries = 100; ; tries--) {
    try {
      return await fetch(address)
    } catch (error) {
      if (tries === 0) throw error
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}

async function main(args) {
  const address = args.at(-1)
  if (!address) throw new Error('usage: person.mjs [--print] ADDRESS')
  const { LOCI_PERSON_EMAIL: email, LOCI_PERSON_PASSWORD: password, LOCI_PERSON_WORKSPACES, LOCI_PERSON_LOG: log } = process.env
  const note = (line) => log && appendFileSync(log, line + '\n')
  note(`asked ${address}`)
  const person = new Person({ email, password, workspaces: LOCI_PERSON_WORKSPACES?.split(',') ?? [] })
  const away = await person.authorize(address).catch((error) => { note(`stuck ${error.message}`); throw error })
  note(`answered ${away}`)
  if (args.includes('--print')) return console.log(away)
  note(`delivered ${(await deliver(away)).status}`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2))
