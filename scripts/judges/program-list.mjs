// The client programs that programs.mjs and hooks.mjs run. Each has:
//   needs    its file, which exists if it is installed;       ci      whether CI runs it
//   env      its variables, for the address of the model;     files   what its home has at first
//   add      its own command that adds Loci;                  config  the file that this command writes
//   entry    the entry of Loci in that file's text;           keepsFile  the program leaves the file alone
//   prepare  a command that must run before;                  setupArgs  further arguments of loci setup
//   signIn   its command that signs in; without it, a key;    prompt  its command that answers a prompt, with the
//   permissions that it has by default
//   permit   the arguments that permit the tools of Loci. A program has them if it refuses every tool in a run without a
//            person unless a rule allows it, whatever the hints of the tool are
//   hooks    what hooks.mjs needs: {prompt}, if the command of prompt would run no hooks. A program without config is judged
//            by its hooks alone
import { arch } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const judge = (path) => join(here, 'node_modules', path)
const client = (path) => join(here, 'clients/node_modules', path)
const key = 'x'.repeat(20)

const json = (...path) => (text) => path.reduce((value, name) => value?.[name], text ? JSON.parse(text) : undefined)
const claude = judge(`@anthropic-ai/claude-code-linux-${arch()}/claude`) // the wrapper of npm needs an install script
const codex = client('.bin/codex')
const opencode = client('.bin/opencode')
const pi = client('@earendil-works/pi-coding-agent/dist/bundle/cli.js')
const gemini = client('.bin/gemini')
const copilot = client('.bin/copilot')
const cline = client('.bin/cline')

// permitted returns the command that answers a prompt, in which the tools of Loci are permitted.
export const permitted = (program, ...args) => [...program.prompt(...args), ...(program.permit ?? [])]

// A port below those that systems give away, because mcp-remote takes the port for free.
const callback = (url) => String(10_000 + new URL(url).port % 20_000)

export const programs = {
  claude: {
    ci: true, needs: claude, config: '.claude.json', entry: json('mcpServers', 'loci'),
    env: (model) => ({ ANTHROPIC_BASE_URL: model, ANTHROPIC_API_KEY: key, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1', ENABLE_TOOL_SEARCH: 'false' }),
    add: (url) => [claude, 'mcp', 'add', '--transport', 'http', '--scope', 'user', 'loci', url],
    signIn: () => [claude, 'mcp', 'login', 'loci'],
    prompt: (text) => [claude, '-p', text],
    permit: ['--allowedTools', 'mcp__loci'],
    hooks: {},
  },
  'mcp-remote': {
    ci: true, needs: judge('mcp-remote/dist/proxy.js'), config: 'none', env: () => ({}),
    signIn: (url) => [process.execPath, judge('mcp-remote/dist/client.js'), url, callback(url)],
    prompt: (text, url) => [process.execPath, join(here, 'stdio-client.mjs'), text, process.execPath, judge('mcp-remote/dist/proxy.js'), url,
      callback(url)],
  },
  codex: {
    needs: codex, config: '.codex/config.toml', keepsFile: true,
    entry: (text) => text.split('[mcp_servers.loci]')[1]?.trim().split('\n'),
    env: () => ({ JUDGE_KEY: key }),
    files: (model) => ({ '.codex/config.toml': ['model = "judge"', 'model_provider = "judge"', 'mcp_oauth_credentials_store = "file"', '',
      '[model_providers.judge]', 'name = "judge"', `base_url = "${model}/v1"`, 'wire_api = "responses"', 'env_key = "JUDGE_KEY"', '',
      '[analytics]', 'enabled = false', ''].join('\n') }),
    add: (url) => [codex, 'mcp', 'add', 'loci', '--url', url],
    signIn: () => [codex, 'mcp', 'login', 'loci'],
    prompt: (text) => [codex, 'exec', '--skip-git-repo-check', text],
    hooks: { // a person trusts hooks in the window of Codex
      prompt: (text) => [codex, 'exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox',
        '--dangerously-bypass-hook-trust', text],
    },
  },
  opencode: {
    needs: opencode, config: '.config/opencode/opencode.json', keepsFile: true, entry: json('mcp', 'loci'),
    env: () => ({ OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_LSP_DOWNLOAD: '1' }),
    files: (model) => ({ '.config/opencode/opencode.json': JSON.stringify({ $schema: 'https://opencode.ai/config.json', autoupdate: false,
      share: 'disabled', model: 'judge/judge', small_model: 'judge/judge',
      provider: { judge: { npm: '@ai-sdk/openai-compatible', name: 'Judge', options: { baseURL: `${model}/v1`, apiKey: key },
        models: { judge: { name: 'Judge', tool_call: true } } } } }, null, 2) + '\n' }),
    add: (url) => [opencode, 'mcp', 'add', 'loci', '--url', url],
    signIn: () => [opencode, 'mcp', 'auth', 'loci'],
    prompt: (text) => [opencode, 'run', ...text.split(' ')], // it puts an argument with spaces in quotes
    hooks: {},
  },
  gemini: {
    needs: gemini, config: '.gemini/settings.json', keepsFile: true, entry: json('mcpServers', 'loci'),
    env: (model) => ({ GEMINI_API_KEY: key, GOOGLE_GEMINI_BASE_URL: model, GEMINI_CLI_TRUST_WORKSPACE: 'true' }),
    files: () => ({ '.gemini/settings.json': JSON.stringify({ security: { auth: { selectedType: 'gemini-api-key' } },
      privacy: { usageStatisticsEnabled: false }, general: { enableAutoUpdate: false }, telemetry: { enabled: false } }, null, 2) }),
    add: (url) => [gemini, 'mcp', 'add', '-s', 'user', '-t', 'http', '-H', 'Authorization: Bearer ${LOCI_API_KEY}', 'loci', url],
    prompt: (text) => [gemini, '-m', 'gemini-2.5-flash', '-p', text],
    permit: ['--yolo'],
  },
  copilot: {
    needs: copilot, config: '.copilot/mcp-config.json', entry: json('mcpServers', 'loci'),
    env: (model) => ({ COPILOT_OFFLINE: 'true', COPILOT_AUTO_UPDATE: 'false', COPILOT_PROVIDER_BASE_URL: `${model}/v1`, COPILOT_PROVIDER_API_KEY: key,
      COPILOT_MODEL: 'judge' }),
    add: (url) => [copilot, 'mcp', 'add', '--transport', 'http', '--header', 'Authorization: Bearer ${LOCI_API_KEY}', 'loci', url],
    prompt: (text) => [copilot, '-p', text],
    permit: ['--allow-all-tools'],
  },
  // Cline signs in by a window alone: here it starts loci mcp, which uses the login of the command.
  cline: {
    needs: cline, config: '.cline/data/settings/cline_mcp_settings.json', entry: json('mcpServers', 'loci'), setupArgs: ['--stdio'],
    env: () => ({ CLINE_TELEMETRY_DISABLED: '1' }),
    prepare: (model) => [cline, 'auth', '-p', 'openai', '-k', key, '-m', 'judge', '-b', `${model}/v1`],
    add: (url, loci) => [cline, 'mcp', 'add', 'loci', '--yes', '--', loci, 'mcp', '--server', new URL(url).origin],
    signIn: (url, loci) => [loci, 'login', new URL(url).origin],
    prompt: (text) => [cline, text, '--timeout', '60'],
  },
  pi: {
    needs: pi, env: () => ({ PI_OFFLINE: '1', PI_TELEMETRY: '0' }),
    files: (model) => ({ '.pi/agent/models.json': JSON.stringify({ providers: { judge: { baseUrl: `${model}/v1`, apiKey: key,
      api: 'openai-completions', models: [{ id: 'judge', name: 'Judge', contextWindow: 128000, maxTokens: 4096 }] } } }) }),
    prompt: (text) => [process.execPath, pi, '--model', 'judge/judge', '-p', text],
    hooks: {},
  },
}
