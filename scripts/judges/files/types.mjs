// Compares the media types that Loci recognizes with those of libmagic, over files of this machine.
import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { must } from './tools.mjs'

const here = dirname(fileURLToPath(import.meta.url))

const extensions = 'png gif jpg jpeg webp bmp tiff ico svg ttf otf woff woff2 pfb gz bz2 xz zst zip tar 7z lz4 whl jar deb pdf ps html xml json md txt css js ' +
  'mjs ts py sh pl c h go java rs sql csv yaml toml so a o exe elf pyc class wasm mo db wav au aiff mp3 ogg mp4 pem srt pcapng'

// The most files of one extension.
const most = 5

// corpus returns files of many kinds: those that are made, and some of each extension.
export async function corpus(folder) {
  mkdirSync(folder)
  await must('python3', [join(here, 'make.py'), folder])
  const modules = (await must('go', ['env', 'GOMODCACHE'])).toString().trim()
  const roots = ['/usr/share', '/usr/lib', '/usr/local', process.env.PYENV_ROOT, modules, join(here, '../node_modules')]
  const found = await must('find', [...roots.filter((root) => root && existsSync(root)), '-xdev', '-regextype', 'posix-extended',
    '-iregex', `.*\\.(${extensions.split(' ').join('|')})`, '-type', 'f', '-not', '-path', '*mimetype@*'])
  const byKind = new Map()
  for (const path of found.toString().split('\n').filter(Boolean)) {
    const kind = extname(path).toLowerCase()
    if (!byKind.has(kind)) byKind.set(kind, [])
    byKind.get(kind).push(path)
  }
  const picked = [...byKind.values()].flatMap((list) => spread(list).filter((path) => statSync(path).size < 600_000).slice(0, most))
  return [...readdirSync(folder).map((name) => join(folder, name)), ...picked]
}

// spread returns some files of a list, from all of its folders, and the same ones each time.
function spread(list) {
  const step = Math.max(1, Math.floor(list.length / (3 * most)))
  return list.sort().filter((_, at) => at % step === 0)
}

// Other names of a type.
const aliases = {
  'audio/x-wav': 'audio/wav', 'audio/x-aiff': 'audio/aiff', 'image/x-icon': 'image/vnd.microsoft.icon', 'application/x-gzip': 'application/gzip',
  'application/java-archive': 'application/zip', 'application/x-zip-compressed': 'application/zip', 'application/x-sharedlib': 'application/x-elf',
  'application/x-executable': 'application/x-elf', 'application/x-pie-executable': 'application/x-elf', 'application/x-object': 'application/x-elf',
  'font/sfnt': 'font/ttf', 'application/vnd.debian.binary-package': 'application/x-archive', 'application/x-sqlite3': 'application/vnd.sqlite3',
}

// Types beside text/* whose files are text: source code and data that one of the two may not tell from plain text.
const texts = ['application/javascript', 'application/json', 'application/x-ndjson', 'application/x-subrip', 'application/xhtml+xml', 'image/svg+xml', 'inode/x-empty',
  'application/x-wine-extension-ini', 'message/rfc822', 'application/pgp-keys', 'application/x-pem-file', 'application/x-x509-ca-cert']

// family returns what two recognitions of a file must have in common.
function family(type) {
  const plain = type.split(';')[0].trim().toLowerCase()
  if (plain.startsWith('text/') || texts.includes(plain)) return 'text'
  return aliases[plain] ?? plain
}

// libmagic returns the types of files by the program file.
export async function libmagic(paths) {
  const out = await must('file', ['--mime-type', '--brief', '--files-from', '-'], { input: paths.join('\n') + '\n' })
  return out.toString().trimEnd().split('\n').map((line) => line.trim())
}

// compare returns the disagreements of two lists of types: {counts, differences}.
export function compare(paths, theirs, ours) {
  const differences = paths.map((path, at) => ({ path, theirs: theirs[at], ours: ours[at] })).filter(({ theirs, ours }) => family(theirs) !== family(ours))
  const equal = paths.filter((_, at) => theirs[at] === ours[at].split(';')[0]).length
  return { differences, equal, kinds: new Set(theirs).size }
}
