// A client of a stdio server, which stores what a prompt says. It drives mcp-remote as a program without OAuth would.
//
//   node scripts/judges/stdio-client.mjs "remember: WORD" COMMAND [ARGUMENT...]
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'

const [text, command, ...args] = process.argv.slice(2)
const client = new Client({ name: 'judge', version: '1' })
await client.connect(new StdioClientTransport({ command, args, env: process.env }))
const { tools } = await client.listTools()
const result = await client.callTool({ name: tools.find((tool) => tool.name === 'memory_create').name, arguments: { content: text } })
console.log(JSON.stringify(result))
await client.close()
