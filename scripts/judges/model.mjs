// A model of the judges' own, for real client programs. It speaks the APIs of four vendors and has few habits: where the
// prompt says "remember: WORD" and a tool of Loci is on offer, it calls memory_create with that word, then says what
// the tool answered. So it does for "tell AGENT: WORD", "read the inbox" and "acknowledge MESSAGE".
//
//   node scripts/judges/model.mjs [PORT]
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { listen } from './server.mjs'

const tool = /(memory_create|agent_send|agent_inbox|agent_acknowledge)$/

const habits = [
  [/remember: (\w+)/g, 'memory_create', ([, word]) => ({ content: `Judges remember ${word}.` })],
  [/tell (agt_\w+): (\w+)/g, 'agent_send', ([, toAgentId, word]) => ({ toAgentId, subject: 'Staging', content: `Staging moved to ${word}.` })],
  [/read the inbox/g, 'agent_inbox', () => ({ status: 'unread' })],
  [/acknowledge ([0-9a-f-]{36})/g, 'agent_acknowledge', ([, messageId]) => ({ messageId })],
]

// A turn is what the model has to say: {call: {name, args}} or {say}.
function turn({ tools, prompt, result }) {
  if (result !== undefined) return { say: `The tool answered: ${result.slice(0, 800)}` }
  for (const [pattern, suffix, args] of habits) {
    const found = [...prompt.matchAll(pattern)].at(-1)
    const name = tools.find((t) => t.endsWith(suffix))
    if (found) return name ? { call: { name, args: args(found) } } : { say: `There is no tool ${suffix}.` }
  }
  return { say: 'Good.' }
}

const flat = (value) => (typeof value === 'string' ? value : JSON.stringify(value ?? ''))

// Each API has: the paths, what a request asks, and the answer as [event, data] of a stream or as one object.
const anthropic = {
  asks(body) {
    const results = body.messages.flatMap((m) => m.content).filter((p) => p.type === 'tool_result')
    return { tools: (body.tools ?? []).map((t) => t.name), prompt: flat(body.messages), result: results.length ? flat(results.at(-1).content) : undefined }
  },
  answer({ say, call }, body) {
    const block = call ? { type: 'tool_use', id: 'toolu_1', name: call.name, input: call.args } : { type: 'text', text: say }
    return { id: 'msg_1', type: 'message', role: 'assistant', model: body.model, content: [block], stop_sequence: null,
      stop_reason: call ? 'tool_use' : 'end_turn', usage: { input_tokens: 10, output_tokens: 10 } }
  },
  stream(turn, body) {
    const whole = this.answer(turn, body)
    const [block] = whole.content
    const empty = turn.call ? { ...block, input: {} } : { type: 'text', text: '' }
    const delta = turn.call ? { type: 'input_json_delta', partial_json: JSON.stringify(block.input) } : { type: 'text_delta', text: block.text }
    return [
      { type: 'message_start', message: { ...whole, content: [], stop_reason: null } },
      { type: 'content_block_start', index: 0, content_block: empty },
      { type: 'content_block_delta', index: 0, delta },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: whole.stop_reason, stop_sequence: null }, usage: { output_tokens: 10 } },
      { type: 'message_stop' },
    ].map((data) => [data.type, data])
  },
}

const responses = {
  asks(body) {
    const items = typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : body.input
    const tools = (body.tools ?? []).flatMap((t) => (t.tools ?? []).map((inner) => ({ ...inner, space: t.name })).concat(t))
    this.space = tools.find((t) => t.space && tool.test(t.name))?.space // Codex groups the tools of a server
    const results = items.filter((i) => i.type === 'function_call_output')
    return { tools: tools.map((t) => t.name).filter(Boolean), prompt: flat(items.filter((i) => i.role === 'user')),
      result: results.length ? flat(results.at(-1).output) : undefined }
  },
  item({ say, call }) {
    if (!call) return { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: say, annotations: [] }] }
    const item = { id: 'fc_1', type: 'function_call', status: 'completed', call_id: 'call_1', name: call.name, arguments: JSON.stringify(call.args) }
    return this.space ? { ...item, namespace: this.space } : item
  },
  answer(turn, body, output = [this.item(turn)], status = 'completed') {
    return { id: 'resp_1', object: 'response', created_at: 1, model: body.model, status, output, error: null,
      usage: { input_tokens: 10, input_tokens_details: { cached_tokens: 0 }, output_tokens: 10, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 20 } }
  },
  stream(turn, body) {
    const item = this.item(turn)
    const text = turn.say
    const empty = turn.call ? { ...item, status: 'in_progress', arguments: '' } : { ...item, status: 'in_progress', content: [] }
    const at = { output_index: 0, item_id: item.id }
    const middle = turn.call
      ? [{ type: 'response.function_call_arguments.delta', ...at, delta: item.arguments },
        { type: 'response.function_call_arguments.done', ...at, arguments: item.arguments }]
      : [{ type: 'response.content_part.added', ...at, content_index: 0, part: { type: 'output_text', text: '', annotations: [] } },
        { type: 'response.output_text.delta', ...at, content_index: 0, delta: text },
        { type: 'response.output_text.done', ...at, content_index: 0, text },
        { type: 'response.content_part.done', ...at, content_index: 0, part: item.content[0] }]
    return [
      { type: 'response.created', response: this.answer(turn, body, [], 'in_progress') },
      { type: 'response.output_item.added', output_index: 0, item: empty },
      ...middle,
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: this.answer(turn, body) },
    ].map((data, sequence_number) => [data.type, { ...data, sequence_number }])
  },
}

const chat = {
  asks(body) {
    const results = body.messages.filter((m) => m.role === 'tool')
    return { tools: (body.tools ?? []).map((t) => t.function?.name ?? ''), prompt: flat(body.messages.filter((m) => m.role === 'user')),
      result: results.length ? flat(results.at(-1).content) : undefined }
  },
  message({ say, call }) {
    if (!call) return { role: 'assistant', content: say }
    const made = { index: 0, id: 'call_1', type: 'function', function: { name: call.name, arguments: JSON.stringify(call.args) } }
    return { role: 'assistant', content: null, tool_calls: [made] }
  },
  answer(turn, body) {
    return { id: 'chat_1', object: 'chat.completion', created: 1, model: body.model, usage: { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 },
      choices: [{ index: 0, message: this.message(turn), finish_reason: turn.call ? 'tool_calls' : 'stop' }] }
  },
  stream(turn, body) {
    const frame = { id: 'chat_1', object: 'chat.completion.chunk', created: 1, model: body.model }
    return [
      [null, { ...frame, choices: [{ index: 0, delta: this.message(turn), finish_reason: null }] }],
      [null, { ...frame, choices: [{ index: 0, delta: {}, finish_reason: turn.call ? 'tool_calls' : 'stop' }], usage: this.answer(turn, body).usage }],
      [null, '[DONE]'],
    ]
  },
}

const gemini = {
  asks(body) {
    const result = body.contents.flatMap((c) => c.parts).findLast((p) => p.functionResponse)
    return { tools: (body.tools ?? []).flatMap((t) => t.functionDeclarations ?? []).map((f) => f.name),
      prompt: flat(body.contents.filter((c) => c.role === 'user')), result: result && flat(result.functionResponse.response) }
  },
  answer({ say, call }) {
    const part = call ? { functionCall: { name: call.name, args: call.args } } : { text: say }
    return { candidates: [{ index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 10, totalTokenCount: 20 } }
  },
  stream(turn) { return [[null, this.answer(turn)]] },
}

const apis = [
  [/\/v1\/messages$/, anthropic],
  [/\/responses$/, responses],
  [/\/chat\/completions$/, chat],
  [/:(streamGenerateContent|generateContent)$/, gemini],
]
const fixed = [
  [/count_tokens$/, { input_tokens: 10 }],
  [/:countTokens$/, { totalTokens: 10 }],
  [/\/models$/, { object: 'list', models: [], data: [{ id: 'judge', object: 'model', created: 1, owned_by: 'judges' }] }],
]

export class Model {
  requests = [] // {path, asks, turn}
  server = createServer((req, res) => this.#answer(req, res).catch((error) => {
    this.requests.push({ path: req.url, error: String(error) })
    res.writeHead(500).end(String(error))
  }))

  static async start(port) {
    const model = new Model()
    model.url = `http://127.0.0.1:${await listen(model.server, port)}`
    return model
  }

  stop() {
    this.server.closeAllConnections()
    this.server.close()
  }

  async #answer(req, res) {
    const path = req.url.split('?')[0]
    const body = await json(req)
    const simple = fixed.find(([pattern]) => pattern.test(path))
    const [, api] = apis.find(([pattern]) => pattern.test(path)) ?? []
    if (!api || simple) {
      this.requests.push({ path })
      return reply(res, simple ? 200 : 404, simple?.[1] ?? { error: { message: `no ${path} here` } })
    }
    const asks = api.asks(body)
    const next = turn(asks)
    this.requests.push({ path, asks, turn: next })
    if (!body.stream && !path.endsWith(':streamGenerateContent')) return reply(res, 200, api.answer(next, body))
    res.writeHead(200, { 'Content-Type': 'text/event-stream' })
    for (const [event, data] of api.stream(next, body)) {
      res.write(`${event ? `event: ${event}\n` : ''}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`)
    }
    res.end()
  }
}

async function json(req) {
  const parts = []
  for await (const part of req) parts.push(part)
  return parts.length ? JSON.parse(Buffer.concat(parts)) : {}
}

function reply(res, status, value) {
  res.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const model = await Model.start(Number(process.argv[2] ?? 0))
  console.log(model.url)
  setInterval(() => { for (const r of model.requests.splice(0)) console.log(JSON.stringify(r).slice(0, 3000)) }, 200)
}
