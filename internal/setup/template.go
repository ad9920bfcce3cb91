package setup

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
)

// A template is an entry as JSON. <command>, <args>, <url>, <variable> and <actor> stand for the parts of a connection.
type template string

// render returns the entry of a connection, in one line.
func (t template) render(to Connection) []byte {
	args := strings.TrimSuffix(strings.TrimPrefix(quote(to.Args), "["), "]")
	return []byte(strings.NewReplacer(`"<command>"`, quote(to.Command), `"<args>"`, args, `"<url>"`, quote(to.URL),
		"<variable>", to.KeyVariable, "<actor>", actor).Replace(string(t)))
}

// actor is the value of the header X-Loci-Actor that names an agent.
const actor = "agent"

// quote returns JSON that other languages read too: < and > are not escaped.
func quote(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // texts and lists of texts have JSON
	return strings.ReplaceAll(strings.TrimSpace(b.String()), `","`, `", "`)
}

// match returns the connection of an entry that has the form of the template. extra reports further settings.
func (t template) match(entry any) (to Connection, extra, ok bool) {
	var pattern any
	if json.Unmarshal([]byte(t), &pattern) != nil {
		return to, false, false
	}
	m := matcher{}
	ok = m.match(pattern, entry)
	return m.to, m.extra, ok
}

// A matcher collects the parts of a connection.
type matcher struct {
	to    Connection
	extra bool
}

// variablePattern is a name of an environment variable.
var variablePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// ValidVariable reports whether an environment variable can have the name.
func ValidVariable(name string) bool { return variablePattern.MatchString(name) }

func (m *matcher) match(pattern, value any) bool {
	switch pattern := pattern.(type) {
	case map[string]any:
		object, ok := value.(map[string]any)
		return ok && m.matchObject(pattern, object)
	case []any:
		list, ok := value.([]any)
		return ok && m.matchList(pattern, list)
	case string:
		text, ok := value.(string)
		return ok && m.matchText(pattern, text)
	}
	return reflect.DeepEqual(pattern, value)
}

// matchObject matches members. Those without a part of the connection are defaults: they may be absent or differ.
func (m *matcher) matchObject(pattern, object map[string]any) bool {
	for name, want := range pattern {
		value, found := object[name]
		switch _, isText := want.(string); {
		case !found && hasPart(want) && !reflect.DeepEqual(want, []any{"<args>"}):
			return false
		case !found:
		case !hasPart(want) && !isText:
			m.extra = m.extra || !reflect.DeepEqual(want, value)
		case !m.match(want, value):
			return false
		}
	}
	for name := range object {
		if _, known := pattern[name]; !known {
			m.extra = true
		}
	}
	return true
}

// hasPart reports whether a pattern has a part of the connection.
func hasPart(pattern any) bool { return strings.Contains(quote(pattern), "<") }

func (m *matcher) matchList(pattern, list []any) bool {
	for i, want := range pattern {
		if want == "<args>" {
			return m.matchArgs(list[i:])
		}
		if i >= len(list) || !m.match(want, list[i]) {
			return false
		}
	}
	return len(pattern) == len(list)
}

func (m *matcher) matchArgs(list []any) bool {
	for _, a := range list {
		text, ok := a.(string)
		if !ok {
			return false
		}
		m.to.Args = append(m.to.Args, text)
	}
	return true
}

func (m *matcher) matchText(pattern, text string) bool {
	switch pattern {
	case "<command>":
		m.to.Command = text
		return true
	case "<url>":
		m.to.URL = text
		return true
	case "<actor>":
		m.to.Agent = text == actor
		return m.to.Agent
	}
	before, after, variable := strings.Cut(pattern, "<variable>")
	if !variable {
		return pattern == text
	}
	name, ok := strings.CutPrefix(text, before)
	name, ok2 := strings.CutSuffix(name, after)
	m.to.KeyVariable = name
	return ok && ok2 && ValidVariable(name)
}
