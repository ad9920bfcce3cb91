package strictjson

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A Visitor is called with each member of an object outside of lists, after its value was checked. It may keep value, a
// part of the text, but not path.
type Visitor func(path []string, value []byte)

// Walk checks a whole text in one pass and calls visit, which may be nil. The value at skipPath only has to be JSON:
// another reader checks it.
func Walk(text []byte, visit Visitor, skipPath ...string) error {
	if !utf8.Valid(text) {
		return errorf("the JSON text must be valid UTF-8")
	}
	w := walker{Scanner: NewScanner(text), visit: visit, skipPath: skipPath}
	if err := w.value(); err != nil {
		return err
	}
	return w.End("value")
}

// A walker walks a text.
type walker struct {
	Scanner
	visit    Visitor
	skipPath []string
	path     []string // of the current member, without the lists in it
	depth    int
	lists    int // how many of depth are lists
}

// value walks the next value.
func (w *walker) value() (err error) {
	switch c := w.Next(); {
	case c == '"':
		start := w.pos
		if _, err = w.String(""); err != nil {
			w.pos = start
			_, err = w.String(w.pathName()) // a name that most strings do not need
		}
		return err
	case c == '{':
		return w.nested(w.object)
	case c == '[':
		w.lists++
		defer func() { w.lists-- }()
		return w.nested(func() error { return w.Items(']', w.value) })
	case c == '-' || '0' <= c && c <= '9':
		_, err = w.Number()
		return err
	case c == 't' && w.Literal("true"), c == 'f' && w.Literal("false"), c == 'n' && w.Literal("null"):
		return nil
	}
	return w.SyntaxError()
}

func (w *walker) nested(read func() error) error {
	if w.depth++; w.depth > maxDepth {
		return errTooDeep
	}
	defer func() { w.depth-- }()
	return read()
}

func (w *walker) object() error {
	seen := map[string]bool{}
	return w.Members(func(name string) error {
		w.path = append(w.path, name)
		defer func() { w.path = w.path[:len(w.path)-1] }()
		if seen[name] {
			return errorf("%s is given twice", w.pathName())
		}
		seen[name] = true
		return w.member()
	})
}

// member walks the value of the current path.
func (w *walker) member() error {
	w.Next()
	start := w.pos
	read := w.value
	if w.lists == 0 && len(w.skipPath) > 0 && slices.Equal(w.path, w.skipPath) {
		read = func() error { return w.skip(w.depth) }
	}
	err := read()
	if err == nil && w.visit != nil && w.lists == 0 {
		w.visit(w.path, w.data[start:w.pos])
	}
	return err
}

// pathName returns the current path for a message.
func (w *walker) pathName() string {
	if len(w.path) == 0 {
		return "the text"
	}
	names := make([]string, len(w.path))
	for i, name := range w.path {
		names[i] = Shorten(name)
	}
	return strings.Join(names, ".")
}

// Shorten returns a name as a message shows it: at most 64 bytes of it.
func Shorten(name string) string {
	if len(name) > 64 {
		return strings.ToValidUTF8(name[:64], "") + "..."
	}
	return name
}
