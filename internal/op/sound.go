package op

import "unicode/utf8"

// deepest is how far a text may be nested: more than any message needs.
const deepest = 1000

// Sound checks one JSON text as strictly as the decoder does: names that are
// given twice, NUL and lone surrogates are refused, because two readers may
// take them for different things. The value at the path left is judged by
// another reader, and only has to be JSON here.
func Sound(text []byte, left ...string) error {
	if !utf8.Valid(text) {
		return bad("the JSON text must be valid UTF-8")
	}
	w := walker{scanner: scanner{data: text}, left: left}
	if err := w.value("the text", 0); err != nil {
		return err
	}
	if w.space(); w.pos < len(w.data) {
		return bad("there is text after the JSON value")
	}
	return nil
}

// A walker passes over a text and keeps nothing of it.
type walker struct {
	scanner
	left  []string
	loose bool // inside of what is left to another reader
	depth int
}

// off is the place of a value that the path to the one left does not touch.
const off = -1

// value passes over a value. name is for messages; on is how many steps of the
// path to what is left it has taken, or off.
func (w *walker) value(name string, on int) error {
	switch c := w.space(); {
	case c == '"' && w.loose:
		return w.pass()
	case c == '"':
		_, err := w.text(name)
		return err
	case c == '{':
		seen := map[string]bool{}
		where := name + "."
		if w.depth == 0 {
			where = ""
		}
		return w.items('}', func() error { return w.member(seen, where, on) })
	case c == '[':
		return w.items(']', func() error { return w.value(name, off) })
	case c == '-' || '0' <= c && c <= '9':
		end := number(w.data, w.pos)
		if end < 0 {
			return w.broken()
		}
		w.pos = end
		return nil
	case c == 't' && w.literal("true"), c == 'f' && w.literal("false"), c == 'n' && w.literal("null"):
		return nil
	}
	return w.broken()
}

// items passes over what stands between brackets, one item after another.
func (w *walker) items(end byte, one func() error) error {
	if w.depth++; w.depth > deepest {
		return bad("the JSON text is nested deeper than %d", deepest)
	}
	defer func() { w.depth-- }()
	w.pos++
	for n := 0; !w.take(end); n++ {
		if n > 0 && !w.take(',') {
			return w.broken()
		}
		if err := one(); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) member(seen map[string]bool, where string, on int) error {
	if w.space() != '"' {
		return w.broken()
	}
	if w.loose {
		if err := w.pass(); err != nil {
			return err
		}
		if !w.take(':') {
			return w.broken()
		}
		return w.value("", off)
	}
	name, err := w.text("a field's name")
	if err != nil {
		return err
	}
	if !w.take(':') {
		return w.broken()
	}
	path := where + clip(name)
	if seen[name] {
		return bad("%s is given twice", path)
	}
	seen[name] = true
	if on == off || on == len(w.left) || w.left[on] != name {
		return w.value(path, off)
	}
	w.loose = on+1 == len(w.left)
	err = w.value(path, on+1)
	w.loose = false
	return err
}

// pass passes over a string of whatever characters; the walker stands at its quote.
func (w *walker) pass() error {
	for w.pos++; w.pos < len(w.data); {
		switch c := w.data[w.pos]; {
		case c == '"':
			w.pos++
			return nil
		case c == '\\':
			if _, ok := w.escape(); !ok {
				return w.broken()
			}
		case c < ' ':
			return w.broken()
		default:
			w.pos++
		}
	}
	return w.broken()
}
