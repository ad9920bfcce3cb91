package acp

import "bytes"

// maxLine is the longest message that is read. Longer ones carry files and images.
const maxLine = 4 << 20

// A lineBuffer cuts a stream into lines of at most maxLine bytes.
type lineBuffer struct {
	begun    []byte // the line so far
	skipping bool   // up to the next line
}

// add calls line with each line that data ends, without its newline, and long in place of each line that is too long.
func (b *lineBuffer) add(data []byte, line func([]byte), long func()) {
	for {
		part, rest, ended := bytes.Cut(data, []byte{'\n'})
		switch {
		case b.skipping:
		case len(b.begun)+len(part) > maxLine:
			b.drop()
			long()
		case ended && len(b.begun) == 0:
			line(part)
		default:
			b.begun = append(b.begun, part...)
			if ended {
				line(b.begun)
				b.begun = b.begun[:0]
			}
		}
		if !ended {
			return
		}
		b.skipping, data = false, rest
	}
}

// drop skips the rest of the line.
func (b *lineBuffer) drop() { b.begun, b.skipping = nil, true }
