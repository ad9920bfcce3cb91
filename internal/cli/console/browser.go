package console

import (
	"errors"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// errNoBrowser reports that this machine can open no browser.
var errNoBrowser = errors.New("no browser can be opened here")

// Browse opens an address in the person's browser, without a shell: $BROWSER, or the system's own command.
func (c *Console) Browse(address string) error {
	for _, words := range c.browsers(runtime.GOOS) {
		cmd := exec.Command(words[0], insertAddress(words[1:], address)...)
		cmd.Env = c.Environ
		if cmd.Start() == nil {
			go func() { _ = cmd.Wait() }() // it may end long after the command
			return nil
		}
	}
	return errNoBrowser
}

// browsers returns the commands to try. On Unix a command like xdg-open without a display would start a browser in the
// terminal, over the text of this program.
func (c *Console) browsers(system string) (all [][]string) {
	for _, line := range filepath.SplitList(c.Env("BROWSER")) {
		if words := strings.Fields(line); len(words) > 0 {
			all = append(all, words)
		}
	}
	switch {
	case len(all) > 0:
	case system == "darwin":
		all = [][]string{{"open"}}
	case system == "windows":
		all = [][]string{{"rundll32", "url.dll,FileProtocolHandler"}}
	case c.Env("DISPLAY") != "" || c.Env("WAYLAND_DISPLAY") != "" || c.Env("WSL_DISTRO_NAME") != "":
		all = [][]string{{"xdg-open"}, {"wslview"}}
	}
	return all
}

// insertAddress replaces %s by the address, or appends it.
func insertAddress(words []string, address string) []string {
	out, inserted := make([]string, len(words), len(words)+1), false
	for i, word := range words {
		out[i] = strings.ReplaceAll(word, "%s", address)
		inserted = inserted || out[i] != word
	}
	if !inserted {
		out = append(out, address)
	}
	return out
}
