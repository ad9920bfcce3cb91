// Package command has the parts that commands share: their errors, groups, numbers of arguments, and suggestions for
// unknown words.
package command

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loci-memory/loci/internal/op"
)

// ErrReported ends a command that has printed its errors.
var ErrReported = errors.New("the errors were printed")

// ErrUnanswered ends a command that has printed what it would do: nobody could answer its question.
var ErrUnanswered = errors.New("the question was not answered")

// An ExitCode ends a command with the exit code of the program that it has run. There is nothing to print.
type ExitCode int

// Error returns a message for a log.
func (c ExitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// A UsageError is an invalid command line that was found after parsing.
type UsageError string

// Error returns the message.
func (m UsageError) Error() string { return string(m) }

// ExactArgs requires one argument for each word.
func ExactArgs(words ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < len(words):
			return Missing(c, words[len(args):]...)
		case len(args) > len(words) && len(words) == 0:
			return fmt.Errorf("%q takes no arguments, but got %q", c.CommandPath(), args[0])
		case len(args) > len(words):
			return fmt.Errorf("%q takes only %s, but got %q too", c.CommandPath(), strings.Join(words, " "),
				args[len(words)])
		}
		return nil
	}
}

// Missing returns the error of arguments or flags that a command needs. It shows the first example of the command.
func Missing(c *cobra.Command, words ...string) UsageError {
	text := strings.Join(words, " and ") + " is required"
	if len(words) > 1 {
		text = strings.Join(words, " and ") + " are required"
	}
	if example, _, _ := strings.Cut(c.Example, "\n"); example != "" {
		text += ": for example " + example
	}
	return UsageError(text)
}

// Help prints the help of a command.
func Help(c *cobra.Command, _ []string) error { return c.Help() }

// Group returns a command that only has subcommands.
func Group(name, short string) *cobra.Command {
	return &cobra.Command{Use: name, Short: short, Args: RejectUnknown, RunE: Help}
}

// synonyms are the words of other programs for commands, and the words of this program in their place.
var synonyms = map[string]string{
	"add": "create", "new": "create", "make": "create", "remember": "create", "store": "create", "insert": "create",
	"rm": "delete", "del": "delete", "remove": "delete", "forget": "delete", "erase": "delete",
	"ls": "list", "show": "get", "view": "get", "cat": "get", "read": "get", "find": "search", "query": "search",
	"recall": "search", "change": "update", "set": "update", "edit": "update", "rename": "update",
	"whoami": "account me", "me": "account me", "auth": "login", "signin": "login", "signout": "logout",
	"status": "doctor", "config": "doctor", "info": "doctor", "upgrade": "version", "start": "serve", "run": "serve",
	"server": "serve", "install": "setup", "init": "setup", "connect": "setup", "sync": "push", "upload": "push",
	"download": "pull", "export": "memory list --all --json",
	"team": "workspace", "invite": "invitation create", "file": "attachment", "users": "member",
}

// RejectUnknown rejects an unknown command, and suggests the one of that meaning, or else the nearest one. Without a
// resource the verbs of memories are meant.
func RejectUnknown(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	word, near := args[0], ""
	if word == "help" {
		near = strings.Replace(c.CommandPath(), " ", " help ", 1) + " " + strings.Join(args[1:], " ")
		return fmt.Errorf("unknown command %q for %q: did you mean %q?", word, c.CommandPath(), strings.TrimSpace(near))
	}
	for _, path := range []string{word, synonyms[word]} {
		for _, resource := range []string{"", "memory "} {
			if sub, rest, err := c.Find(strings.Fields(resource + path)); near == "" && path != "" && err == nil &&
				sub != c && (len(rest) == 0 || rest[0][0] == '-') && sub.IsAvailableCommand() {
				near = strings.TrimPrefix(sub.CommandPath(), c.CommandPath()+" ")
				near = strings.Join(append([]string{near}, rest...), " ")
			}
		}
	}
	var names, below, verbs []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
		for _, one := range sub.Commands() {
			if one.Name() == word {
				below = append(below, sub.Name()+" "+word)
			}
			if sub.Name() == "memory" {
				verbs = append(verbs, one.Name())
			}
		}
	}
	if near == "" && len(below) == 1 { // the resource is missing
		near = below[0]
	}
	if near == "" {
		near = nearest(word, append(slices.Clone(names), verbs...))
		if near != "" && !slices.Contains(names, near) {
			near = "memory " + near
		}
	}
	if strings.Contains(near, " ") {
		near = c.CommandPath() + " " + near
	}
	if near != "" {
		near = fmt.Sprintf(": did you mean %q?", near)
	}
	return fmt.Errorf("unknown command %q for %q%s", word, c.CommandPath(), near)
}

// nearest returns the nearest name, or the one with that prefix, or "".
func nearest(word string, names []string) string {
	near := op.Nearest(word, names)
	for _, name := range names {
		if near == "" && word != "" && strings.HasPrefix(name, word) {
			near = name
		}
	}
	return near
}

// Suggestion proposes the nearest name, or the one with that prefix.
func Suggestion(word string, names []string, before string) string {
	near := nearest(word, names)
	if near == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %q?", before+near)
}

// TakesArguments reports whether the usage line of a command has arguments.
func TakesArguments(c *cobra.Command) bool { return strings.Contains(c.Use, " ") }

// FlagError adds the nearest flag to the error of an unknown flag.
func FlagError(c *cobra.Command, err error) error {
	var unknown interface {
		error
		GetSpecifiedName() string
	}
	var short *pflag.NotExistError
	if errors.As(err, &short) && short.GetSpecifiedShortnames() != "" {
		return fmt.Errorf("unknown flag %q for %q", "-"+short.GetSpecifiedName(), c.CommandPath())
	}
	if !errors.As(err, &unknown) || unknown.GetSpecifiedName() == "" ||
		c.Flags().Lookup(unknown.GetSpecifiedName()) != nil { // a known flag without its value
		return err
	}
	if c.HasAvailableSubCommands() && !TakesArguments(c) {
		if err := RejectUnknown(c, c.Flags().Args()); err != nil { // its flags are unknown too
			return err
		}
	}
	var names []string
	for _, m := range flagPattern.FindAllStringSubmatch(c.Flags().FlagUsages(), -1) {
		names = append(names, m[1])
	}
	return fmt.Errorf("unknown flag %q for %q%s", "--"+unknown.GetSpecifiedName(), c.CommandPath(),
		Suggestion(unknown.GetSpecifiedName(), names, "--"))
}

// flagPattern finds the flags on a help page.
var flagPattern = regexp.MustCompile(`(?m)^ +(?:-\w, )?--([a-z-]+)`)
