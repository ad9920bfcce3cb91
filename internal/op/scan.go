package op

import (
	"reflect"
	"unicode/utf16"
	"unicode/utf8"
)

// A scanner walks over JSON text (RFC 8259) once, strictly.
type scanner struct {
	data []byte
	pos  int
}

// space skips white space and returns the next byte, or 0 at the end.
func (s *scanner) space() byte {
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// take skips white space and then c, if c comes next.
func (s *scanner) take(c byte) bool {
	if s.space() != c {
		return false
	}
	s.pos++
	return true
}

func (s *scanner) literal(word string) bool {
	if len(s.data)-s.pos < len(word) || string(s.data[s.pos:s.pos+len(word)]) != word {
		return false
	}
	s.pos += len(word)
	return true
}

// broken refuses text that is not JSON and says where it stops to be.
func (s *scanner) broken() error {
	if s.pos >= len(s.data) {
		return bad("the JSON text ends too early")
	}
	return bad("the JSON text is malformed at byte %d", s.pos)
}

// text reads a string; the scanner stands at its quote. name is for messages.
func (s *scanner) text(name string) (string, error) {
	s.pos++
	start := s.pos
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c == '"':
			raw := s.data[start:s.pos]
			s.pos++
			if !utf8.Valid(raw) {
				return "", bad("%s must be valid UTF-8", name)
			}
			return string(raw), nil
		case c == '\\':
			return s.escaped(name, start)
		case c < ' ':
			return "", bad("%s holds a control character that is not escaped", name)
		default:
			s.pos++
		}
	}
	return "", bad("the JSON text ends inside a string")
}

// escaped reads the rest of a string that holds an escape.
func (s *scanner) escaped(name string, start int) (string, error) {
	out := append(make([]byte, 0, s.pos-start+64), s.data[start:s.pos]...)
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			if !utf8.Valid(out) {
				return "", bad("%s must be valid UTF-8", name)
			}
			return string(out), nil
		case c == '\\':
			r, ok := s.escape()
			if !ok {
				return "", bad("%s holds an escape that is not one of JSON's", name)
			}
			if r <= 0 {
				return "", bad("%s must hold no NUL and no lone surrogate", name)
			}
			out = utf8.AppendRune(out, r)
		case c < ' ':
			return "", bad("%s holds a control character that is not escaped", name)
		default:
			out = append(out, c)
			s.pos++
		}
	}
	return "", bad("the JSON text ends inside a string")
}

// lone is what an escaped surrogate without its other half is read as.
const lone rune = -1

// escape reads one escape.
func (s *scanner) escape() (rune, bool) {
	if s.pos+1 >= len(s.data) {
		return 0, false
	}
	c := s.data[s.pos+1]
	s.pos += 2
	switch c {
	case '"', '\\', '/':
		return rune(c), true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	case 'u':
		return s.unicode()
	}
	return 0, false
}

func (s *scanner) unicode() (rune, bool) {
	r, ok := s.hex4()
	if !ok || !utf16.IsSurrogate(r) {
		return r, ok
	}
	if !s.literal(`\u`) {
		return lone, true
	}
	low, ok := s.hex4()
	if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
		r = lone
	}
	return r, ok
}

func (s *scanner) hex4() (rune, bool) {
	if len(s.data)-s.pos < 4 {
		return 0, false
	}
	var r rune
	for _, c := range s.data[s.pos : s.pos+4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	s.pos += 4
	return r, true
}

// number returns the end of the JSON number that begins at pos, or -1.
func number(b []byte, pos int) int {
	digits := func() bool {
		start := pos
		for pos < len(b) && '0' <= b[pos] && b[pos] <= '9' {
			pos++
		}
		return pos > start
	}
	if pos < len(b) && b[pos] == '-' {
		pos++
	}
	if pos < len(b) && b[pos] == '0' {
		pos++
	} else if !digits() {
		return -1
	}
	if pos < len(b) && b[pos] == '.' {
		pos++
		if !digits() {
			return -1
		}
	}
	if pos < len(b) && (b[pos] == 'e' || b[pos] == 'E') {
		pos++
		if pos < len(b) && (b[pos] == '+' || b[pos] == '-') {
			pos++
		}
		if !digits() {
			return -1
		}
	}
	return pos
}

// A decoder reads JSON into an operation's input.
type decoder struct {
	scanner
	op    *Op
	split bool
}

// document reads the whole text: one object and nothing after it.
func (d *decoder) document(p *plan, v reflect.Value, given *fieldSet) error {
	if d.space() == 0 && d.pos == len(d.data) {
		return nil
	}
	if d.space() != '{' {
		return bad("send a JSON object")
	}
	if err := d.object(p, v, given, ""); err != nil {
		return err
	}
	if d.space(); d.pos < len(d.data) {
		return bad("there is text after the JSON object")
	}
	return nil
}

// object reads an object; where is the path to it, "" or "source.".
func (d *decoder) object(p *plan, v reflect.Value, given *fieldSet, where string) error {
	d.pos++
	if d.take('}') {
		return nil
	}
	for {
		if d.space() != '"' {
			return d.broken()
		}
		name, err := d.text("a field's name")
		if err != nil {
			return err
		}
		if !d.take(':') {
			return d.broken()
		}
		if err := d.member(p, v, given, where, name); err != nil {
			return err
		}
		if d.take('}') {
			return nil
		}
		if !d.take(',') {
			return d.broken()
		}
	}
}

func (d *decoder) member(p *plan, v reflect.Value, given *fieldSet, where, name string) error {
	for i := range p.fields {
		f := &p.fields[i]
		if f.name != name || d.split && where == "" && f.place != InBody {
			continue
		}
		if given.has(i) {
			return bad("%s is given twice", where+name)
		}
		given.add(i)
		return d.value(f.plan, f.plan.settable(v.Field(f.index)), where+name)
	}
	return unknown(name, d.known(p, where))
}

// known lists the names that an object may hold.
func (d *decoder) known(p *plan, where string) []string {
	if d.split && where == "" {
		return d.op.names(InBody)
	}
	names := make([]string, len(p.fields))
	for i := range p.fields {
		names[i] = p.fields[i].name
	}
	return names
}

func (d *decoder) value(p *plan, v reflect.Value, name string) error {
	switch c := d.space(); {
	case c == '"' && (p.kind == textKind || p.kind == timeKind):
		text, err := d.text(name)
		if err != nil {
			return err
		}
		if hasNUL(text) {
			return bad("%s must hold no NUL", name)
		}
		return p.setText(v, name, text)
	case c == '[' && p.kind == listKind:
		return d.list(p, v, name)
	case c == '{' && p.kind == objectKind:
		var given fieldSet
		if err := d.object(p, v, &given, name+"."); err != nil {
			return err
		}
		return p.complete(&given, name+".")
	case (c == 't' || c == 'f') && p.kind == boolKind:
		if yes := d.literal("true"); yes || d.literal("false") {
			return p.setBool(v, name, yes)
		}
		return d.broken()
	case c == '-' || '0' <= c && c <= '9':
		end := number(d.data, d.pos)
		if end < 0 {
			return d.broken()
		}
		text := string(d.data[d.pos:end])
		d.pos = end
		if p.kind != integerKind && p.kind != numberKind {
			return p.mismatch(name)
		}
		return p.setNumber(v, name, text)
	case c == 'n' && d.literal("null"):
		if p.rule.Null {
			return p.setText(v, name, "")
		}
		return bad("%s must not be null: leave it out", name)
	case c != '"' && c != '[' && c != '{' && c != 't' && c != 'f':
		return d.broken()
	}
	return p.mismatch(name)
}

func (d *decoder) list(p *plan, v reflect.Value, name string) error {
	d.pos++
	n := 0
	v.Set(reflect.MakeSlice(v.Type(), 0, 4))
	for !d.take(']') {
		if n > 0 && !d.take(',') {
			return d.broken()
		}
		if n++; n > p.most() {
			return bad("%s must have at most %d items", name, p.most())
		}
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		if err := d.value(p.elem, p.elem.settable(v.Index(n-1)), name); err != nil {
			return err
		}
	}
	if n < p.rule.MinItems {
		return bad("%s must have at least %d items", name, p.rule.MinItems)
	}
	return nil
}

func hasNUL(s string) bool {
	for i := range len(s) {
		if s[i] == 0 {
			return true
		}
	}
	return false
}
