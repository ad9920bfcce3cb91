// Package command has the parts that commands share: their errors, groups, numbers of arguments, and suggestions for
// unknown words.
package command

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

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

// RejectUnknown rejects an unknown command, and suggests the nearest one.
func RejectUnknown(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names, below []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
		for _, one := range sub.Commands() {
			if one.Name() == args[0] {
				below = append(below, one.CommandPath())
			}
		}
	}
	near := Suggestion(args[0], names, "")
	if len(below) == 1 { // the resource is missing
		near = Suggestion(below[0], below, "")
	}
	return fmt.Errorf("unknown command %q for %q%s", args[0], c.CommandPath(), near)
}

// Suggestion proposes the nearest name, or the one with that prefix.
func Suggestion(word string, names []string, before string) string {
	near := op.Nearest(word, names)
	for _, name := range names {
		if near == "" && word != "" && strings.HasPrefix(name, word) {
			near = name
		}
	}
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
