package op

import "unicode/utf8"

// maxDepth is how far a text may be nested: more than any message needs.
const maxDepth = 1000

// Validate checks one JSON text as strictly as the decoder does: names that are
// given twice, NUL and lone surrogates are refused, because two readers may
// take them for different things. The value at the path left is judged by
// another reader, and only has to be JSON here.
func Validate(text []byte, left ...string) error {
	if !utf8.Valid(text) {
		return invalidf("the JSON text must be valid UTF-8")
	}
	w := validator{scanner: scanner{data: text}, skipPath: left}
	if err := w.validateValue("the text", 0); err != nil {
		return err
	}
	if w.skipSpace(); w.pos < len(w.data) {
		return invalidf("there is text after the JSON value")
	}
	return nil
}

// A validator passes over a text and keeps nothing of it.
type validator struct {
	scanner
	skipPath []string
	skipping bool // inside of what is left to another reader
	depth    int
}

// offPath is the place of a value that the path to the one left does not touch.
const offPath = -1

// validateValue passes over a value. name is for messages; on is how many steps of the
// path to what is left it has taken, or off.
func (w *validator) validateValue(name string, step int) error {
	switch c := w.skipSpace(); {
	case c == '"' && w.skipping:
		return w.skipString()
	case c == '"':
		_, err := w.readString(name)
		return err
	case c == '{':
		seen := map[string]bool{}
		prefix := name + "."
		if w.depth == 0 {
			prefix = ""
		}
		return w.validateItems('}', func() error { return w.validateMember(seen, prefix, step) })
	case c == '[':
		return w.validateItems(']', func() error { return w.validateValue(name, offPath) })
	case c == '-' || '0' <= c && c <= '9':
		end := numberEnd(w.data, w.pos)
		if end < 0 {
			return w.syntaxError()
		}
		w.pos = end
		return nil
	case c == 't' && w.consumeLiteral("true"), c == 'f' && w.consumeLiteral("false"),
		c == 'n' && w.consumeLiteral("null"):
		return nil
	}
	return w.syntaxError()
}

// validateItems passes over what stands between brackets, one item after another.
func (w *validator) validateItems(end byte, one func() error) error {
	if w.depth++; w.depth > maxDepth {
		return invalidf("the JSON text is nested deeper than %d", maxDepth)
	}
	defer func() { w.depth-- }()
	w.pos++
	for n := 0; !w.consume(end); n++ {
		if n > 0 && !w.consume(',') {
			return w.syntaxError()
		}
		if err := one(); err != nil {
			return err
		}
	}
	return nil
}

func (w *validator) validateMember(seen map[string]bool, prefix string, step int) error {
	if w.skipSpace() != '"' {
		return w.syntaxError()
	}
	if w.skipping {
		if err := w.skipString(); err != nil {
			return err
		}
		if !w.consume(':') {
			return w.syntaxError()
		}
		return w.validateValue("", offPath)
	}
	name, err := w.readString("a field's name")
	if err != nil {
		return err
	}
	if !w.consume(':') {
		return w.syntaxError()
	}
	path := prefix + truncate(name)
	if seen[name] {
		return invalidf("%s is given twice", path)
	}
	seen[name] = true
	if step == offPath || step == len(w.skipPath) || w.skipPath[step] != name {
		return w.validateValue(path, offPath)
	}
	w.skipping = step+1 == len(w.skipPath)
	err = w.validateValue(path, step+1)
	w.skipping = false
	return err
}

// skipString passes over a string of whatever characters; the walker stands at its quote.
func (w *validator) skipString() error {
	for w.pos++; w.pos < len(w.data); {
		switch c := w.data[w.pos]; {
		case c == '"':
			w.pos++
			return nil
		case c == '\\':
			if _, ok := w.readEscape(); !ok {
				return w.syntaxError()
			}
		case c < ' ':
			return w.syntaxError()
		default:
			w.pos++
		}
	}
	return w.syntaxError()
}
