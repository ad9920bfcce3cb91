// Appends its input as a line to a file, in place of loci hook.
import { appendFileSync, readFileSync } from 'node:fs'

appendFileSync(process.argv[2], readFileSync(0, 'utf8') + '\n')
