package mcp

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// The functions below walk over JSON that is known to be valid.

// skipSpace returns the first place from i on that is no white space.
func skipSpace(s []byte, i int) int {
	for s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r' {
		i++
	}
	return i
}

// skipComma returns the place of the next item or name after the value that ends
// at i, or of the bracket that closes.
func skipComma(s []byte, i int) int {
	if i = skipSpace(s, i); s[i] == ',' {
		i = skipSpace(s, i+1)
	}
	return i
}

// stringEnd returns the end of the string at i.
func stringEnd(s []byte, i int) int {
	for i++; s[i] != '"'; i++ {
		if s[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// scalarEnd returns the end of the number or word at i.
func scalarEnd(s []byte, i int) int {
	if n := bytes.IndexAny(s[i:], ",]} \n\t\r"); n >= 0 {
		return i + n
	}
	return len(s)
}

// valueEnd returns the end of the value at i.
func valueEnd(s []byte, i int) int {
	switch s[i] {
	case '"':
		return stringEnd(s, i)
	case '{', '[':
		for depth := 0; ; i++ {
			switch s[i] {
			case '"':
				i = stringEnd(s, i) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
	}
	return scalarEnd(s, i)
}

// eachMember tells the members of an object: their names as they stand between the
// quotes, escapes and all. What is no object has none.
func eachMember(object []byte, member func(name, value []byte)) {
	if object = bytes.TrimSpace(object); len(object) == 0 || object[0] != '{' {
		return
	}
	for i := skipSpace(object, 1); object[i] != '}'; {
		end := stringEnd(object, i)
		at := skipSpace(object, skipSpace(object, end)+1)
		stop := valueEnd(object, at)
		member(object[i+1:end-1], object[at:stop])
		i = skipComma(object, stop)
	}
}

// removeMember takes the first member of that name out of an object. value is nil
// where there is none; what is no object stays as it is.
func removeMember(object []byte, name string) (value, rest []byte) {
	if !bytes.Contains(object, []byte(name)) || !json.Valid(object) {
		return nil, object
	}
	i := skipSpace(object, 0)
	if object[i] != '{' {
		return nil, object
	}
	for i = skipSpace(object, i+1); object[i] != '}'; {
		start, end := i, stringEnd(object, i)
		at := skipSpace(object, skipSpace(object, end)+1)
		stop := valueEnd(object, at)
		i = skipComma(object, stop)
		if string(object[start+1:end-1]) != name {
			continue
		}
		rest = append(rest, object[:start]...)
		if object[i] == '}' {
			rest = bytes.TrimRight(rest, ", \n\t\r")
		}
		return object[at:stop], append(rest, object[i:]...)
	}
	return nil, object
}

// acceptsNumber reports whether addNumber can add a number to.
func acceptsNumber(args []byte) bool {
	args = bytes.TrimSpace(args)
	return len(args) == 0 || args[0] == '{' && json.Valid(args)
}

// addNumber returns an object with one number more.
func addNumber(object []byte, name string, n int) []byte {
	head := `{"` + name + `":` + strconv.Itoa(n)
	rest := bytes.TrimSpace(object)
	if len(rest) == 0 {
		return []byte(head + "}")
	}
	if rest = rest[1:]; bytes.TrimSpace(rest)[0] != '}' {
		head += ","
	}
	return append([]byte(head), rest...)
}
