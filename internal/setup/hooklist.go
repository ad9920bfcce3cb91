package setup

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
)

// A hookList is the form of a JSON file whose object "hooks" has, for each event, a list of groups of commands.
type hookList struct {
	events  []string
	timeout int // seconds
}

// hooksContainer is the object of all events.
const hooksContainer = "hooks"

func (h hookList) parse(text []byte) (document, error) { return parseJSON(text) }

// group returns the item that Loci adds to the list of an event.
func (h hookList) group(command string) []byte {
	return fmt.Appendf(nil, `{"hooks": [{"type": "command", "command": %s, "timeout": %d}]}`, quote(command), h.timeout)
}

// A hookItem is an item of Loci in the list of an event.
type hookItem struct {
	index   int
	command string
}

// find returns the items of Loci in the list of an event. An item in which a command of Loci stands beside others is an
// error: nobody knows which settings are meant for it.
func (h hookList) find(c Change, d document, event string) (items []hookItem, err error) {
	value, found, err := d.Value(hooksContainer, event)
	if err != nil || !found {
		return nil, err
	}
	groups, ok := value.([]any)
	if !ok {
		return nil, fmt.Errorf("%q in %q is not a list", event, hooksContainer)
	}
	for i, group := range groups {
		commands := commandsOf(group)
		switch own := slices.IndexFunc(commands, c.isOwn); {
		case own < 0:
		case len(commands) > 1:
			return nil, loci.Errorf(loci.CodeConflict, "in %q a command of Loci stands beside others in one group: "+
				"move %q into a group of its own, or remove it", event, commands[own])
		default:
			items = append(items, hookItem{i, commands[own]})
		}
	}
	return items, nil
}

// commandsOf returns the commands of a group, and "" for each other hook.
func commandsOf(group any) (commands []string) {
	object, _ := group.(map[string]any)
	hooks, _ := object["hooks"].([]any)
	for _, hook := range hooks {
		handler, _ := hook.(map[string]any)
		command, _ := handler["command"].(string)
		commands = append(commands, command)
	}
	return commands
}

// isOwn reports whether a command line starts loci hook for the adapter of the client.
func (c Change) isOwn(line string) bool {
	to := splitCommand(line)
	return len(to.Args) > 1 && to.Args[0] == "hook" && to.Args[1] == string(c.Client.hooks.adapter) &&
		to.isLoci(c.System.Self)
}

// commandPattern splits the first word, which may be quoted, from a command line.
var commandPattern = regexp.MustCompile(`^(?:"([^"]*)"|'((?:[^']|'\\'')*)'|([^\s"']+))(?: (.*))?$`)

// splitCommand returns the program and the arguments of a command line as Loci writes it.
func splitCommand(line string) Connection {
	m := commandPattern.FindStringSubmatch(line)
	if m == nil {
		return Connection{}
	}
	program := m[1] + strings.ReplaceAll(m[2], `'\''`, "'") + m[3]
	return Connection{Command: program, Args: strings.Fields(m[4])}
}

// plainWord is a word that no shell changes.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// joinCommand returns the command line of a program for a shell.
func joinCommand(to Connection, os string) string {
	words := append([]string{to.Command}, to.Args...)
	for i, word := range words {
		switch {
		case plainWord.MatchString(word):
		case os == "windows":
			words[i] = `"` + word + `"`
		default:
			words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

func (h hookList) command(c Change, f candidate) (*Connection, error) {
	for _, event := range h.events {
		items, err := h.find(c, f.document, event)
		if err != nil {
			return nil, err
		}
		if len(items) > 0 {
			to := splitCommand(items[0].command)
			return &to, nil
		}
	}
	return nil, nil
}

// edit adds the item of each event, or removes it. The removal goes backwards, so that it undoes each step.
func (h hookList) edit(c Change, f candidate) (after []byte, action Action, err error) {
	wired, err := h.command(c, f)
	if err != nil {
		return nil, "", err
	}
	events := slices.Clone(h.events)
	action, unchanged := Added, Unchanged
	switch {
	case c.To == nil:
		slices.Reverse(events)
		action, unchanged = Removed, Absent
	case wired != nil:
		action = Updated
	}
	d, changed := f.document, false
	for _, event := range events {
		for {
			text, same, err := h.step(c, d, event)
			if err != nil {
				return nil, "", err
			}
			if same {
				break
			}
			after, changed = text, true
			if d, err = h.parse(after); err != nil {
				return nil, "", notWritable(err)
			}
		}
	}
	if !changed {
		return nil, unchanged, nil
	}
	return after, action, h.check(c, f.text, after)
}

// step makes the next change of one event. same reports that nothing is left to do.
func (h hookList) step(c Change, d document, event string) (text []byte, same bool, err error) {
	list, want, wanted := d.(*jsonDocument), "", 0
	if c.To != nil {
		want, wanted = joinCommand(*c.To, c.System.OS), 1
	}
	items, err := h.find(c, d, event)
	switch n := len(items); {
	case err != nil:
	case n > wanted: // a second item, of an older path, would run the hook twice
		text, err = list.RemoveItem(hooksContainer, event, items[n-1].index)
	case n < wanted:
		text, err = list.Append(hooksContainer, event, h.group(want))
	case n > 0 && items[0].command != want:
		text, err = list.SetItem(hooksContainer, event, items[0].index, h.group(want))
	default:
		same = true
	}
	return text, same, err
}

// check makes sure that all but the items of Loci means what it meant.
func (h hookList) check(c Change, before, after []byte) error {
	old, err := h.others(c, before)
	changed, err2 := h.others(c, after)
	if err = errors.Join(err, err2); err != nil || !sameValues(old, changed) {
		return notWritable(err)
	}
	return nil
}

// others returns the values of a text without the items of Loci. An empty list is the same as none.
func (h hookList) others(c Change, text []byte) (map[string]any, error) {
	values, err := jsonValues(text)
	hooks, _ := values[hooksContainer].(map[string]any)
	for _, event := range h.events {
		groups, _ := hooks[event].([]any)
		groups = slices.DeleteFunc(groups, func(group any) bool {
			return slices.ContainsFunc(commandsOf(group), c.isOwn)
		})
		if len(groups) == 0 {
			delete(hooks, event)
		} else {
			hooks[event] = groups
		}
	}
	if len(hooks) == 0 {
		delete(values, hooksContainer)
	}
	return values, err
}
