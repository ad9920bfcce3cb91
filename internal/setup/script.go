package setup

import (
	"bytes"
	"embed"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/loci-memory/loci"
)

// A script is the form of a file that is a program of Loci as a whole: a plugin or an extension.
type script struct{ name string }

//go:embed scripts
var scripts embed.FS

// scriptMark begins each script. A file without it is not one of Loci.
const scriptMark = "// Written by loci setup"

// parse returns no document: a script is replaced as a whole.
func (s script) parse([]byte) (document, error) { return nil, nil }

// render returns the script that starts a program: its own part, and the delivery that all scripts share.
func (s script) render(to Connection) []byte {
	var text []byte
	for _, name := range []string{s.name, "deliver.js"} {
		part, err := scripts.ReadFile("scripts/" + name)
		if err != nil {
			panic(err) // the file is part of the program
		}
		text = append(text, part...)
	}
	return template(text).render(to)
}

// commandLine is the line of a script that names the program.
var commandLine = regexp.MustCompile(`(?m)^const command = (\[.*\])$`)

// command returns the program of a script, or nil if the file is not one of Loci.
func (s script) command(_ Change, f candidate) (*Connection, error) {
	text := string(f.text)
	if !strings.HasPrefix(text, scriptMark) {
		return nil, nil
	}
	var words []string
	if m := commandLine.FindStringSubmatch(text); m == nil || json.Unmarshal([]byte(m[1]), &words) != nil ||
		len(words) == 0 {
		return &Connection{}, nil // somebody changed it
	}
	return &Connection{Command: words[0], Args: words[1:]}, nil
}

func (s script) edit(c Change, f candidate) (after []byte, action Action, err error) {
	exists, own := f.text != nil, bytes.HasPrefix(f.text, []byte(scriptMark))
	foreign := exists && !own && !c.Force
	switch {
	case c.To == nil && !exists:
		return nil, Absent, nil
	case foreign:
		return nil, "", loci.Errorf(loci.CodeConflict,
			"the file is not one that Loci wrote: --force replaces or removes it")
	case c.To == nil:
		return nil, Removed, nil
	}
	after = s.render(*c.To)
	switch {
	case !exists:
		action = Added
	case bytes.Equal(after, f.text):
		return nil, Unchanged, nil
	default:
		action = Updated
	}
	return after, action, nil
}
