package mcp

import (
	"bytes"
	"math"
	"strconv"

	"github.com/loci-memory/loci/internal/strictjson"
)

// removeMember returns the value of the first member of that name, and the object without it. Without such a member it
// returns nil and the object.
func removeMember(object []byte, name string) (value, rest []byte) {
	in := strictjson.NewScanner(object)
	if in.Next() != '{' {
		return nil, object
	}
	rest = []byte{'{'}
	err := in.RawMembers(func(given []byte) error {
		v, err := in.Raw()
		if decoded, _ := text(given); value == nil && decoded == name {
			value = v
		} else {
			rest = append(append(append(appendComma(rest), given...), ':'), v...)
		}
		return err
	})
	if err != nil || value == nil {
		return nil, object
	}
	return value, append(rest, '}')
}

// addNumber returns an object, which may be empty, with one number more.
func addNumber(object []byte, name string, n int) []byte {
	out := `{"` + name + `":` + strconv.Itoa(n)
	rest := bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(object), []byte("{")))
	switch {
	case len(rest) == 0:
		return []byte(out + "}")
	case rest[0] != '}':
		out += ","
	}
	return append([]byte(out), rest...)
}

// integer returns the value of a JSON number that is an integer of at least 0. As in JSON Schema, 5.0 is one.
func integer(value []byte) (n int, ok bool) {
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil || f != math.Trunc(f) || f < 0 || f > maxSafeInteger {
		return 0, false
	}
	return int(f), true
}
