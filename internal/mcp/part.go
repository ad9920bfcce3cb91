package mcp

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// partArgument is the one argument that no operation has. A result is bounded, so a tool returns a long text in parts.
const partArgument = "part"

// Bounds of a part, in bytes.
const (
	minPart      = 4 << 10
	partOverhead = 64 // the names of the members around it
)

// cutPart removes the argument for a part. Its value is 0 where it is absent.
func cutPart(args []byte) (rest []byte, part int, err error) {
	given, rest := removeMember(args, partArgument)
	if given == nil {
		return args, 0, nil
	}
	if again, _ := removeMember(rest, partArgument); again != nil {
		return nil, 0, loci.Errorf(loci.CodeInvalidQuery, "part is given twice")
	}
	if s, ok := text(given); ok {
		given = []byte(strings.TrimSpace(s)) // as lenient as the arguments of the operation
	}
	if len(given) == 0 || string(given) == "null" {
		return rest, 0, nil
	}
	part, ok := integer(given)
	if !ok || part == 0 {
		return nil, 0, loci.Errorf(loci.CodeInvalidQuery, "part must be an integer of at least 1")
	}
	return rest, part, nil
}

// readPart returns the answer raw with one part of its long text, its number and the number of all; 0 is the first. An
// answer that is short enough is shown whole. Equal texts have equal parts.
func readPart(raw []byte, part int, shown op.Presentation) ([]byte, error) {
	if len(raw) <= maxResult && part == 0 {
		return raw, nil
	}
	whole, frame := splitText(raw, shown.Text)
	k := newTruncator(frame, shown)
	if k.maxBytes = maxResult - minPart - partOverhead; !k.fit() && !k.fitLists() {
		k.out = []byte(`{"truncated":true}`)
	}
	parts := splitParts(whole, maxResult-len(k.out)-partOverhead)
	if part = max(part, 1); part > len(parts) {
		return nil, loci.Errorf(loci.CodeInvalidQuery, "part must be at most %d: the text has no more", len(parts))
	}
	out := append(bytes.TrimSuffix(k.out, []byte("}")), `,"`+shown.Text+`":"`...)
	out = append(append(out, parts[part-1]...), `","part":`...)
	out = strconv.AppendInt(out, int64(part), 10)
	out = strconv.AppendInt(append(out, `,"parts":`...), int64(len(parts)), 10)
	return append(out, '}'), nil
}

// splitText returns the inside of the text of that name, and the object without it.
func splitText(object []byte, name string) (inside, rest []byte) {
	value, rest := removeMember(object, name)
	if len(value) > 0 && value[0] == '"' {
		return value[1 : len(value)-1], rest
	}
	return nil, object
}

// splitParts cuts the inside of a JSON string into parts of at most size bytes. A part ends with a line where one ends
// in its second half.
func splitParts(s []byte, size int) (parts [][]byte) {
	for len(s) > size {
		n := 0
		for next := 0; next <= size; next += prefixBytes(s[next:], 1) {
			n = next
		}
		for i := n - len(`\n`); i > n/2; i-- {
			if bytes.HasPrefix(s[i:], []byte(`\n`)) && !endsInBackslash(s[:i]) {
				n = i + len(`\n`)
				break
			}
		}
		parts, s = append(parts, s[:n]), s[n:]
	}
	return append(parts, s)
}

// endsInBackslash reports whether the inside of a JSON string ends with a backslash that escapes the next byte.
func endsInBackslash(s []byte) bool { return (len(s)-len(bytes.TrimRight(s, `\`)))%2 == 1 }
