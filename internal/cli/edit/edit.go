// Package edit changes texts in the editor of the person.
package edit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/console"
	"github.com/loci-memory/loci/internal/cli/format"
	"github.com/loci-memory/loci/internal/cli/output"
	"github.com/loci-memory/loci/internal/cli/records"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/setup"
)

// Options are what the command needs from the program.
type Options struct {
	Console *console.Console
	// Open opens the target, and returns the reader of its records and the function that closes it.
	Open func(ctx context.Context) (records.Reader, func() error, error)
}

// Command returns loci memory edit.
func Command(o Options) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "edit <memory-id>",
		Short: "Change the text of a memory in your editor",
		Long: "Opens the text of a memory in $VISUAL or $EDITOR, shows the change, asks, and stores it. It is " +
			"refused where the memory has changed meanwhile. A text that cannot be stored stays in a file, which is " +
			"named.",
		Example: "loci memory edit 3f9c2a7b\nEDITOR='code --wait' loci memory edit 3f9c2a7b --yes",
		Args:    command.ExactArgs("<memory-id>"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !yes {
				if err := o.Console.RequireTerminal(cmd.CommandPath()); err != nil {
					return err
				}
			}
			r, end, err := o.Open(cmd.Context())
			if err != nil {
				return err
			}
			return errors.Join(o.edit(cmd.Context(), r, loci.ID(args[0]), yes), end())
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "Do not ask for confirmation")
	return cmd
}

// edit changes one memory.
func (o Options) edit(ctx context.Context, r records.Reader, text loci.ID, yes bool) error {
	id, err := r.Lists().ID(ctx, "memory", text)
	if err != nil {
		return err
	}
	read := &op.Call{Transport: "command", RequestID: string(loci.NewID(time.Now()))}
	raw, err := r.Caller.Call(ctx, r.Table.Op("memory.get"), read, op.Args{JSON: input(map[string]any{"memoryId": id})})
	var before loci.MemoryDetail
	if err == nil {
		err = json.Unmarshal(raw, &before)
	}
	if err != nil {
		return err
	}
	return Text(ctx, o.Console, "memory "+string(before.ID), before.Content, yes, func(after string) error {
		update := r.Table.Op("memory.update")
		write := &op.Call{Transport: "command", RequestID: read.RequestID, IfMatch: read.ETag}
		raw, err := r.Caller.Call(ctx, update, write, op.Args{JSON: input(map[string]any{"memoryId": before.ID,
			"content": after})})
		if err != nil {
			return err
		}
		p := &output.Printer{Console: o.Console, ETag: write.ETag}
		if !o.Console.JSON {
			p.Names, p.People = r.ContainerNames(ctx, update, raw), r.PersonNames(ctx, nil, raw)
		}
		return p.Print(update, raw)
	})
}

// Text lets the person edit the text of a record, shows the change, asks, and stores it. The file with a changed text
// stays only where it could not be stored, or after an interruption.
func Text(ctx context.Context, c *console.Console, name, before string, yes bool,
	store func(after string) error) error {
	path, err := writeFile(before)
	if err != nil {
		return err
	}
	after, err := change(ctx, c, name, before, path, yes)
	keep := ctx.Err() != nil
	if err == nil && after != before {
		err = store(after)
		keep = err != nil
	}
	if left, unreadable := readFile(path, before); keep && (unreadable != nil || left != before) {
		c.PrintMessage("the text is in " + path)
		return err
	}
	return errors.Join(err, os.Remove(path))
}

// change lets the person edit the file, and returns the text that is to be stored.
func change(ctx context.Context, c *console.Console, name, before, path string, yes bool) (after string, err error) {
	if err := runEditor(ctx, c, path); err != nil {
		return "", err
	}
	after, err = readFile(path, before)
	switch {
	case err != nil:
		return "", err
	case strings.TrimSpace(after) == "":
		return "", errors.New("the text is empty: nothing was changed")
	case after == before:
		_, err = fmt.Fprintln(c.Err, "Nothing was changed.")
		return before, err
	}
	diff := setup.UnifiedDiff(name, []byte(withLineEnd(before)), []byte(withLineEnd(after)))
	fmt.Fprint(c.Err, format.StripControl(diff, true))
	if !yes {
		err = c.Ask(ctx, "Store this change?")
	}
	return after, err
}

// runEditor runs the editor of the person. It has the terminal, and handles the signals of the terminal itself.
func runEditor(ctx context.Context, c *console.Console, path string) error {
	editor := c.Env("VISUAL")
	if strings.TrimSpace(editor) == "" {
		editor = c.Env("EDITOR")
	}
	if strings.TrimSpace(editor) == "" {
		editor = "vi"
	}
	words := append(strings.Fields(editor), path)
	if runtime.GOOS != "windows" {
		words = []string{"sh", "-c", editor + ` "$@"`, "sh", path} // as git does
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = c.In, c.Err, c.Err, c.Environ
	err := cmd.Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	exit, ended := errors.AsType[*exec.ExitError](err)
	if ended && exit.ExitCode() < 126 { // a shell found no program
		return fmt.Errorf("the editor ended with status %d: nothing was changed",
			exit.ExitCode())
	}
	if err != nil {
		return loci.Errorf(loci.CodeInvalidQuery, "The editor %q failed (%v): set EDITOR to one that works", editor,
			err)
	}
	return nil
}

// writeFile writes a text to a new file that only the person reads. Editors end each file with a line end.
func writeFile(text string) (path string, err error) {
	f, err := os.CreateTemp("", "loci-memory-*.md")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(withLineEnd(text))
	return f.Name(), errors.Join(err, f.Close())
}

// withLineEnd returns a text that ends with a line end.
func withLineEnd(text string) string { return strings.TrimSuffix(text, "\n") + "\n" }

// readFile returns the text of a file, without a line end that the text before has not.
func readFile(path, before string) (string, error) {
	b, err := os.ReadFile(path)
	text := string(b)
	if !strings.HasSuffix(before, "\n") {
		text = strings.TrimSuffix(text, "\n")
	}
	return text, err
}

// input returns an input of an operation.
func input(fields map[string]any) []byte {
	b, _ := json.Marshal(fields) // texts
	return b
}
