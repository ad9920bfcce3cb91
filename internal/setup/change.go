package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"github.com/loci-memory/loci"
)

// A Change is one change of a client's file.
type Change struct {
	Client  *Client
	System  System
	Entry   string      // the name of the entry
	Project string      // the folder of the project; empty: the person's own file
	Hooks   bool        // the hooks are changed, not the entry of the MCP server
	To      *Connection // nil removes the entry, or the hooks
	Force   bool        // an entry of somebody else is replaced or removed too
	DryRun  bool        // nothing is written
	Lock    string      // a file that parallel runs lock
}

// An Action is what a change did.
type Action string

// The actions.
const (
	Added     Action = "added"
	Updated   Action = "updated"
	Removed   Action = "removed"
	Unchanged Action = "unchanged" // the entry was there already
	Absent    Action = "absent"    // there was nothing to remove
)

// An Outcome is the result of a change.
type Outcome struct {
	File   string
	Target string // where links of File lead, if it has any
	Action Action
	Diff   string // of a dry run
}

// attempts bounds how often a change is made again because the client wrote its file at the same time.
const attempts = 5

// lockWait bounds how long a run waits for another one.
const lockWait = 20 * time.Second

// Run makes the change. A malformed file, and an entry of somebody else, stay as they are.
func (c Change) Run(ctx context.Context) (out Outcome, err error) {
	c = c.resolve()
	if !c.DryRun {
		lock := flock.New(c.Lock)
		limited, cancel := context.WithTimeout(ctx, lockWait)
		defer cancel()
		if _, err := lock.TryLockContext(limited, 10*time.Millisecond); err != nil {
			return out, fmt.Errorf("%s is locked by another loci setup: %w", c.Lock, err)
		}
		defer lock.Close()
	}
	for range attempts {
		if out, err = c.try(); !errors.Is(err, errChanged) {
			return out, err
		}
	}
	return out, err
}

func (c Change) try() (out Outcome, err error) {
	f, err := c.open()
	if err != nil {
		return out, err
	}
	after, action, err := c.edit(f)
	if err != nil {
		return out, inFile(f.path, err)
	}
	out = Outcome{File: f.path, Target: f.target(cmp.Or(c.Project, c.System.home())), Action: action}
	switch {
	case action == Unchanged || action == Absent:
	case c.DryRun:
		out.Diff = UnifiedDiff(f.path, f.text, after)
	default:
		err = f.replace(after, c.Project == "")
		if err == nil && after == nil && f.real == f.path {
			c.removeFolders(filepath.Dir(f.path))
		}
	}
	return out, err
}

// inFile names the file of an error.
func inFile(path string, err error) error {
	if e, ok := errors.AsType[*loci.Error](err); ok {
		return &loci.Error{Code: e.Code, Message: path + ": " + e.Message, Err: e.Err}
	}
	return loci.Errorf(loci.CodeInvalidQuery, "%s: %v; nothing was changed", path, err)
}

// A candidate is a file of a client, parsed.
type candidate struct {
	*file
	document
}

// open reads the file of the change: the one with the entry, else the first that exists, else the one to be made.
func (c Change) open() (chosen candidate, err error) {
	l, dir := c.location()
	paths := c.System.paths(l, dir)
	if len(paths) == 0 {
		return chosen, loci.Errorf(loci.CodeInvalidQuery, "there is no home folder: set HOME")
	}
	var fresh candidate
	for _, path := range paths {
		at, err := c.read(path)
		if err != nil {
			return chosen, err
		}
		if found, err := c.isIn(at); err == nil && found {
			return at, nil
		}
		if chosen.file == nil && at.text != nil {
			chosen = at
		}
		if path == c.System.freshPath(l, dir, paths) {
			fresh = at
		}
	}
	if chosen.file == nil {
		chosen = fresh
	}
	return chosen, nil
}

func (c Change) read(path string) (at candidate, err error) {
	if c.Project != "" {
		err = requireInside(c.Project, path)
	}
	if err == nil {
		at.file, err = readFile(path)
	}
	if err == nil {
		at.document, err = c.parse(at.text)
	}
	if err != nil {
		err = inFile(path, err)
	}
	return at, err
}

// edit returns the changed text.
func (c Change) edit(f candidate) (after []byte, action Action, err error) {
	if c.Hooks {
		return c.Client.hooks.form.edit(c, f)
	}
	entry, found, err := f.Value(c.Client.container, c.Entry)
	switch {
	case err != nil:
		return nil, "", err
	case c.To == nil && !found:
		return nil, Absent, nil
	case c.To == nil:
		if old, _, ok := c.Client.read(entry); !c.Force && !(ok && old.isLoci(c.System.Self)) {
			return nil, "", c.foreign(entry, "removes")
		}
		after, err = c.Client.remove(f, c.Entry)
		return after, Removed, err
	case !found:
		action = Added
	default:
		action = Updated
		old, extra, ok := c.Client.read(entry)
		if ok && (old.Equal(*c.To) || old.isLoci(c.System.Self) && old.refines(*c.To)) {
			return nil, Unchanged, nil
		}
		if !c.Force && (!ok || extra || !c.To.mayReplace(old, c.System.Self)) {
			return nil, "", c.foreign(entry, "replaces")
		}
	}
	after, err = c.Client.set(f, c.Entry, c.Client.template(*c.To).render(*c.To))
	return after, action, err
}

// foreign reports an entry that Loci does not replace by itself.
func (c Change) foreign(entry any, verb string) error {
	what := "has settings that Loci does not write"
	if old, _, ok := c.Client.read(entry); ok {
		what = "leads to " + old.host()
	}
	if object, ok := entry.(map[string]any); ok {
		what += fmt.Sprintf(" (%v)", slices.Sorted(maps.Keys(object)))
	}
	return loci.Errorf(loci.CodeConflict, "there is an entry %q already, which %s: --force %s it, --name chooses "+
		"another name",
		c.Entry, what, verb)
}
