package cli

import (
	"context"
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/console"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/resolve"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/testenv"
)

// allCommands returns every command of the product, by its path without the name of the program.
func allCommands(t *testing.T) (all []*cobra.Command) {
	t.Helper()
	p := &program{deps: defaultDeps, Console: console.Console{Environ: []string{"HOME=" + t.TempDir()}}}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		all = append(all, c)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(p.root())
	return all
}

// wordsOf returns the words that call a command.
func wordsOf(c *cobra.Command) []string { return strings.Fields(c.CommandPath())[1:] }

// TestIDsAreFoundInLists checks that each argument and flag with an id accepts a part of it. A unit is in no list, and
// the commands for attachments find theirs in a memory.
func TestIDsAreFoundInLists(t *testing.T) {
	t.Parallel()
	lists := resolve.Reader{Table: service.Ops}
	for _, o := range service.Ops.Ops {
		for _, f := range o.Fields() {
			if !slices.Contains([]string{"", "unit", "attachment"}, f.Resource) && len(lists.ListsOf(f.Resource)) == 0 {
				t.Errorf("%s: no list has the %s of %s", o.Name, f.Resource, f.Name)
			}
		}
	}
}

// wireName finds the name of a field that has another one on the command line.
var wireName = regexp.MustCompile(`\b[a-z]+[A-Z][a-z]+\b`)

// withoutJSON are the commands that print no object.
var withoutJSON = []string{"serve", "mcp", "acp", "completion"}

// TestUsageErrorsExitWith2 gives every command an unknown flag, no arguments, an unknown command, and a wrong value
// for every flag of a number, a boolean, an enumeration or a time. A hook reports no error: it would stop an agent.
func TestUsageErrorsExitWith2(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	d.table = service.Ops
	check := func(line ...string) {
		t.Helper()
		if code := d.run(line...); code != exitUsage || d.err.Len() == 0 || d.openCount > 0 ||
			wireName.MatchString(d.err.String()) {
			t.Errorf("loci %s: %d %s%s", strings.Join(line, " "), code, d.out.String(), d.err.String())
		}
		if line = append(line, "--json"); slices.Contains(withoutJSON, line[0]) || slices.Contains(line, "--") {
			return
		}
		var said map[string]string
		if code := d.run(line...); code != exitUsage || d.err.Len() > 0 ||
			json.Unmarshal(d.out.Bytes(), &said) != nil || said["code"] != "invalid_query" {
			t.Errorf("loci %s: %d %q %q", strings.Join(line, " "), code, d.out.String(), d.err.String())
		}
	}
	for _, c := range allCommands(t) {
		words := wordsOf(c)
		if slices.Equal(words, []string{"hook"}) {
			continue
		}
		check(append(words, "--no-such-flag")...)
		switch {
		case c.HasSubCommands() && !command.TakesArguments(c):
			check(append(words, "nosuchcommand")...)
			continue
		case c.Args != nil && c.Args(c, nil) != nil:
			check(words...)
		}
		for _, f := range flagsOf(c) {
			check(slices.Concat(words, argumentsOf(c), []string{"--" + f + "=no such value"})...)
		}
	}
}

// flagsOf returns the flags of a command with values that are no free text.
func flagsOf(c *cobra.Command) (names []string) {
	if o := service.Ops.Op(strings.NewReplacer(" ", ".", "-", "_").Replace(strings.Join(wordsOf(c), " "))); o != nil {
		for _, f := range o.Fields() {
			typed := f.Type != "string" || f.Enum != nil || strings.HasPrefix(f.Format, "date")
			if f.Location != op.InPath && f.Resource == "" && len(f.Fields) == 0 && typed {
				names = append(names, strings.NewReplacer("_", "-").Replace(f.Name))
			}
		}
		names = slices.DeleteFunc(names, func(name string) bool { return c.Flags().Lookup(name) == nil })
	}
	return names
}

// argumentsOf returns valid arguments of a command.
func argumentsOf(c *cobra.Command) (args []string) {
	for range strings.Count(c.Use, "<") {
		args = append(args, fakeID)
	}
	return args
}

// A wrong value of a setting is a usage error where a flag gives it, and refused where a variable does.
func TestWrongFlagOfServeIsAUsageError(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	d.Environ = []string{"HOME=" + t.TempDir()}
	d.expectRun(t, exitUsage, "--rate-limit: must be a whole number", "serve", "--rate-limit", "many")
	d.Environ = append(d.Environ, "LOCI_RATE_LIMIT=many")
	d.expectRun(t, exitFailure, "LOCI_RATE_LIMIT: must be a whole number", "serve")
}

func TestUnknownCommandSuggestsTheMeaning(t *testing.T) {
	t.Parallel()
	d := newTestTerminal(t)
	d.table = service.Ops
	for word, want := range map[string]string{
		"add x": "loci memory create", "new": "loci memory create", "search x": "loci memory search",
		"serch x": "loci memory search", "list": "loci memory list", "lst": "loci memory list",
		"rm x": "loci memory delete", "ls": "loci memory list", "find x": "loci memory search", "memroy list": "memory",
		"memori": "memory", "memory rm x": "delete", "memory new": "create", "memory serach x": "search",
		"memory edti": "edit", "atlas add": "create", "atlas rm x": "delete", "workspaces": "workspace",
		"whoami": "loci account me", "config": "doctor", "lgoin": "login", "verson": "version",
		"invite": "loci invitation create", "export": "loci memory list --all --json",
		"admin usr": "user", "create": "loci memory create", "get x": "loci memory get", "update": "loci memory update",
	} {
		d.expectRun(t, exitUsage, "did you mean \""+want+"\"?", strings.Fields(word)...)
	}
	for _, c := range allCommands(t) {
		name := c.Name()
		if len(name) < 5 || c.Parent() == nil || command.TakesArguments(c.Parent()) {
			continue
		}
		misspelt := append(wordsOf(c.Parent()), name[:2]+name[3:])
		d.run(misspelt...)
		testenv.Contains(t, d.err.String(), "did you mean \""+name+"\"?")
	}
}

// textFields calls yield for each field of an operation that takes any text, with the command of the operation, and an
// input that has a text in it alone.
func textFields(t *testing.T, yield func(c *cobra.Command, o *op.Op, flag string, input func(text string) []byte)) {
	for _, c := range allCommands(t) {
		o := service.Ops.Op(strings.NewReplacer(" ", ".", "-", "_").Replace(strings.Join(wordsOf(c), " ")))
		if o == nil {
			continue
		}
		for _, f := range o.Fields() {
			if f.Type != "string" || f.List || f.Enum != nil || f.Resource != "" || f.Location == op.InPath ||
				c.Flags().Lookup(format.Kebab(f.Name)) == nil {
				continue
			}
			yield(c, o, format.Kebab(f.Name), func(text string) []byte {
				b, _ := json.Marshal(map[string]string{f.Name: text})
				return b
			})
		}
	}
}

// TestLongStandardInputIsRefused holds for every text: a longer standard input is cut, and none may be stored.
func TestLongStandardInputIsRefused(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", console.MaxStdin)
	textFields(t, func(_ *cobra.Command, o *op.Op, flag string, input func(string) []byte) {
		_, err := o.Canonical(op.Args{JSON: input(long)})
		if err == nil || strings.HasSuffix(err.Error(), "is required") {
			t.Errorf("%s: --%s takes %d bytes: %v", o.Name, flag, len(long), err)
		}
	})
}

// TestReadOfStandardInputEndsWithContext reads from a pipe into which nobody writes.
func TestReadOfStandardInputEndsWithContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in, to := io.Pipe()
	defer to.Close()
	textFields(t, func(c *cobra.Command, _ *op.Op, flag string, _ func(string) []byte) {
		d := newTestTerminal(t)
		p := &program{Console: console.Console{In: in, Out: &d.out, Err: &d.err, Environ: d.Environ}, deps: d.deps}
		p.table = service.Ops
		line := slices.Concat(wordsOf(c), argumentsOf(c), []string{"--" + flag, "-"})
		if code := p.run(ctx, line); code != exitInterrupted || d.openCount > 0 {
			t.Errorf("loci %s: %d %s", strings.Join(line, " "), code, d.err.String())
		}
	})
}
