
// Each report is the input of one run of the command. The runs follow one another, so that the order stays.
const waiting = []
const maxWaiting = 256 // the oldest one goes first
// Twice the limit of an event, as much as loci hook scans: a credential across that limit arrives whole.
const maxText = 512 * 1024
const seconds = 3 // after which a run is ended
let running = false

function deliver(report) {
  if (waiting.length >= maxWaiting) waiting.shift()
  waiting.push(JSON.stringify(report))
  run()
}

function run() {
  if (running || waiting.length === 0) return
  running = true
  start(waiting.shift()).then(() => {
    running = false
    run()
  })
}

// start resolves when the run has ended, whatever its result.
function start(text) {
  return new Promise((resolve) => {
    try {
      const child = spawn(command[0], command.slice(1), { stdio: ['pipe', 'ignore', 'ignore'], windowsHide: true })
      const timer = setTimeout(() => child.kill('SIGKILL'), seconds * 1000)
      const end = () => {
        clearTimeout(timer)
        resolve()
      }
      child.once('error', end)
      child.once('close', end)
      child.stdin.on('error', () => {})
      child.stdin.end(text)
    } catch {
      resolve()
    }
  })
}

// flush resolves when all reports are delivered, or after some time.
async function flush() {
  for (const end = Date.now() + seconds * 1000; (running || waiting.length > 0) && Date.now() < end;) {
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

// What still waits when the program ends is delivered at once.
process.once('exit', () => {
  for (const text of waiting.splice(0).slice(-8)) {
    try {
      const options = { input: text, stdio: ['pipe', 'ignore', 'ignore'], timeout: 1000, windowsHide: true }
      spawnSync(command[0], command.slice(1), options)
    } catch {}
  }
})

// textsOf returns the parts that are text, without what the program added by itself.
function textsOf(parts) {
  const own = (parts ?? []).filter((part) => part?.type === 'text' && part.text && !part.synthetic && !part.ignored)
  return own.map(({ text }) => ({ type: 'text', text: text.slice(0, maxText) }))
}

// quiet returns a handler that never fails: the program must not notice this file.
function quiet(handler) {
  return async (...args) => {
    try {
      return await handler(...args)
    } catch {}
  }
}
