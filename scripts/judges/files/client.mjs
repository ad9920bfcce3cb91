// A client of files: the calls of docs/files.md, with bytes by curl.
import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { basename } from 'node:path'

export const prefix = '/functions/v1/loci'
export const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex')

export class Client {
  constructor(server, curl) { Object.assign(this, { server, curl }) }

  static async connect(server, curl) {
    const client = new Client(server, curl)
    await client.exchange()
    client.memory = await client.newMemory()
    return client
  }

  async newMemory() { return (await this.server.call('POST', '/v1/memories', { content: `files ${Math.random()}`, secrets: 'redact' })).memory.id }

  async exchange() { this.token = (await this.call('POST', '/auth/exchange', undefined, this.server.key)).body.token }

  // call returns {status, body}.
  async call(method, path, body, token = this.token) {
    const answer = await fetch(this.server.url + prefix + path, { method, body: body && JSON.stringify(body),
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' } })
    return { status: answer.status, body: await answer.json() }
  }

  // ok is a call that must succeed.
  async ok(...args) {
    const { status, body } = await this.call(...args)
    if (status >= 300) throw new Error(`${args[0]} ${args[1]} was answered with ${status}: ${JSON.stringify(body)}`)
    return body
  }

  // announce announces a file, and returns {id, uploadUrl, headers}.
  async announce(path, fields = {}) {
    const out = await this.ok('POST', '/storage/upload-url', { memoryId: this.memory, fileName: basename(path), size: statSync(path).size,
      mimeType: 'application/octet-stream', ...fields })
    return { ...out, id: out.attachment.id }
  }

  confirm(id) { return this.call('POST', '/storage/confirm-upload', { attachmentId: id }) }

  // upload does all of it, and returns the attachment.
  async upload(path, fields) {
    const { id, uploadUrl, headers } = await this.announce(path, fields)
    const { status, body, err } = await this.curl.send(uploadUrl, path, headers)
    if (status !== 200) throw new Error(`${path} was answered with ${status}: ${body} ${err}`)
    return (await this.ok('POST', '/storage/confirm-upload', { attachmentId: id })).attachment
  }

  async address(id) { return (await this.ok('GET', `/storage/download-url?attachmentId=${id}`)).url }

  // isEqual downloads a file, and reports whether it is the one at a path.
  async isEqual(id, path, args) {
    const got = await this.curl.request(await this.address(id), args)
    return got.status === 200 && got.body.equals(readFileSync(path))
  }

  async remove(...ids) { return (await this.ok('POST', '/storage/delete-objects', { attachmentIds: ids })).results }
}
