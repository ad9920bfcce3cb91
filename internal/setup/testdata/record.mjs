// Appends its input as a line to a file, in place of loci hook, once another file exists.
//
//   node record.mjs FILE RELEASE
import { appendFileSync, existsSync, readFileSync } from 'node:fs'

const [to, released] = process.argv.slice(2)
const pause = new Int32Array(new SharedArrayBuffer(4))
while (!existsSync(released)) Atomics.wait(pause, 0, 0, 10)
appendFileSync(to, readFileSync(0, 'utf8') + '\n')
