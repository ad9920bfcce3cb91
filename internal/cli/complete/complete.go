// Package complete completes ids, names and tags in a shell, from the target of the command.
package complete

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/atomicfile"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/cli/records"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/resolve"
)

// Tags is the resource of the tags of memories.
const Tags = "tags"

// Bounds of a completion.
const (
	timeout    = 2 * time.Second // with a target that does not answer
	cacheTime  = 5 * time.Second
	maxRecords = 500
)

// Options are what completion needs from the program.
type Options struct {
	// Open opens the target, and returns a name of it and of its account. It makes no database.
	Open func(ctx context.Context) (r records.Reader, name string, end func() error, err error)
	// CacheDir is a folder for values that are a few seconds old; "" means none.
	CacheDir string
}

// A value is what a shell may insert for a record.
type value struct {
	ID    string // whole; empty for a name or a tag
	Text  string // inserted: a name, an address, a tag, or the end of the id
	Label string // shown beside it
}

// Values returns the completion of the records of a resource, or of Tags. It is silent where the target is away.
func (o Options) Values(resource string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		before, item := "", typed
		if i := strings.LastIndexByte(typed, ','); i >= 0 { // the next item of a list
			before, item = typed[:i+1], typed[i+1:]
		}
		var found []cobra.Completion
		for _, v := range o.values(cmd.Context(), resource) {
			text := v.Text
			if !hasPrefixFold(text, item) && v.ID != "" {
				text = v.ID
			}
			if hasPrefixFold(text, item) {
				found = append(found, cobra.CompletionWithDesc(before+text, v.Label))
			}
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// hasPrefixFold reports whether a text begins with another in any letter case.
func hasPrefixFold(text, start string) bool {
	return len(text) >= len(start) && strings.EqualFold(text[:len(start)], start)
}

// values returns the values of a resource from the cache, or from the target.
func (o Options) values(ctx context.Context, resource string) (list []value) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r, name, end, err := o.Open(ctx)
	if err != nil {
		return nil
	}
	defer end() //nolint:errcheck // nobody reads the errors of a completion
	path := o.cachePath(name, resource)
	if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) < cacheTime {
		if b, err := os.ReadFile(path); err == nil && json.Unmarshal(b, &list) == nil {
			return list
		}
	}
	if resource == Tags {
		list, err = tagsOf(ctx, r)
	} else {
		list, err = recordsOf(ctx, r, resource)
	}
	if b, e := json.Marshal(list); err == nil && e == nil && path != "" && os.MkdirAll(o.CacheDir, 0o700) == nil {
		_ = atomicfile.Write(path, b, 0o600, nil) // the next completion asks the target again
	}
	return list
}

// cachePath returns the file of the values of a target and a resource. Its older files are removed.
func (o Options) cachePath(name, resource string) string {
	if o.CacheDir == "" {
		return ""
	}
	files, _ := filepath.Glob(filepath.Join(o.CacheDir, "complete-*.json"))
	for _, path := range files {
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) >= cacheTime {
			_ = os.Remove(path) // the next completion tries again
		}
	}
	sum := sha256.Sum256([]byte(name + "\n" + resource))
	return filepath.Join(o.CacheDir, fmt.Sprintf("complete-%x.json", sum[:12]))
}

// recordsOf reads the first records of a resource.
func recordsOf(ctx context.Context, r records.Reader, resource string) (list []value, err error) {
	seen := map[string]bool{}
	for one, err := range r.Lists().All(ctx, resource, "") {
		if err != nil {
			return list, err
		}
		if seen[string(one.ID)] { // in another list
			continue
		}
		seen[string(one.ID)] = true
		v := valueOf(resource, one)
		if !seen[v.Text] {
			list = append(list, v)
		} else if v.ID != "" { // another record has this end of the id
			v.Text = v.ID
			list = append(list, v)
		}
		seen[v.Text] = true
		if len(list) == maxRecords {
			break
		}
	}
	return list, nil
}

// valueOf returns the value of a record: the name or address by which commands find it, or the end of the id.
func valueOf(resource string, one resolve.Record) value {
	clean := func(text string) string { return format.StripControl(text, false) }
	switch resolve.ListedAs(resource) {
	case "workspace", "atlas", "agent":
		return value{Text: clean(one.Name), Label: string(one.ID)}
	case "member":
		return value{Text: clean(one.Email), Label: clean(one.Name)}
	}
	id := string(one.ID)
	return value{ID: id, Text: format.ShortID(id, format.MinShortID), Label: clean(cmp.Or(one.Label(), id))}
}

// tagsOf reads the tags of the latest memories.
func tagsOf(ctx context.Context, r records.Reader) (list []value, err error) {
	o := r.Table.Op("memory.list")
	if o == nil {
		return nil, nil
	}
	c := &op.Call{Transport: "command", RequestID: string(loci.NewID(time.Now()))}
	raw, err := r.Caller.Call(ctx, o, c, op.Args{JSON: []byte(`{"limit":100}`)})
	var page loci.Memories
	if err == nil {
		err = json.Unmarshal(raw, &page)
	}
	var tags []string
	for _, m := range page.Memories {
		tags = append(tags, m.Tags...)
	}
	slices.Sort(tags)
	for _, tag := range slices.Compact(tags) {
		list = append(list, value{Text: format.StripControl(tag, false)})
	}
	return list, err
}
