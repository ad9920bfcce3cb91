package op

import (
	"bytes"
	"encoding/json"
)

// A Created output reports whether a record was created.
type Created interface{ Created() bool }

// A Tagged output has an entity tag.
type Tagged interface{ ETag() string }

// Marshal writes v as JSON and does not escape <, > and &.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	err := encodeTo(&b, v)
	return b.Bytes(), err
}

const okPrefix = `{"ok":true`

// Encode writes the output of an operation: one JSON object that begins with "ok": true.
func Encode(out any) ([]byte, error) {
	b := bytes.NewBufferString(okPrefix)
	if err := encodeTo(b, out); err != nil {
		return nil, err
	}
	text := b.Bytes()
	if string(text[len(okPrefix):]) == "{}" {
		return append(text[:len(okPrefix)], '}'), nil
	}
	text[len(okPrefix)] = ',' // in place of the brace of out
	return text, nil
}

func encodeTo(b *bytes.Buffer, v any) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - len("\n"))
	return nil
}
