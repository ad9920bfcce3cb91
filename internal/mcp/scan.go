package mcp

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// The functions below walk over JSON that is known to be valid.

// space returns the first place from i on that is no white space.
func space(s []byte, i int) int {
	for s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r' {
		i++
	}
	return i
}

// comma returns the place of the next item or name after the value that ends
// at i, or of the bracket that closes.
func comma(s []byte, i int) int {
	if i = space(s, i); s[i] == ',' {
		i = space(s, i+1)
	}
	return i
}

// quoted returns the end of the string at i.
func quoted(s []byte, i int) int {
	for i++; s[i] != '"'; i++ {
		if s[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// scalar returns the end of the number or word at i.
func scalar(s []byte, i int) int {
	if n := bytes.IndexAny(s[i:], ",]} \n\t\r"); n >= 0 {
		return i + n
	}
	return len(s)
}

// after returns the end of the value at i.
func after(s []byte, i int) int {
	switch s[i] {
	case '"':
		return quoted(s, i)
	case '{', '[':
		for depth := 0; ; i++ {
			switch s[i] {
			case '"':
				i = quoted(s, i) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
	}
	return scalar(s, i)
}

// each tells the members of an object: their names as they stand between the
// quotes, escapes and all. What is no object has none.
func each(object []byte, member func(name, value []byte)) {
	if object = bytes.TrimSpace(object); len(object) == 0 || object[0] != '{' {
		return
	}
	for i := space(object, 1); object[i] != '}'; {
		end := quoted(object, i)
		at := space(object, space(object, end)+1)
		stop := after(object, at)
		member(object[i+1:end-1], object[at:stop])
		i = comma(object, stop)
	}
}

// without takes the first member of that name out of an object. value is nil
// where there is none; what is no object stays as it is.
func without(object []byte, name string) (value, rest []byte) {
	if !bytes.Contains(object, []byte(name)) || !json.Valid(object) {
		return nil, object
	}
	i := space(object, 0)
	if object[i] != '{' {
		return nil, object
	}
	for i = space(object, i+1); object[i] != '}'; {
		start, end := i, quoted(object, i)
		at := space(object, space(object, end)+1)
		stop := after(object, at)
		i = comma(object, stop)
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

// isObject reports what with can add a number to.
func isObject(args []byte) bool {
	args = bytes.TrimSpace(args)
	return len(args) == 0 || args[0] == '{' && json.Valid(args)
}

// with returns an object with one number more.
func with(object []byte, name string, n int) []byte {
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
