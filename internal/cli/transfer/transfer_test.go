package transfer

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/console"
)

// TestDeletionsNeedTerminalOrYes checks that a command that nobody can answer opens neither side.
func TestDeletionsNeedTerminalOrYes(t *testing.T) {
	t.Parallel()
	errOpened := errors.New("both sides are open")
	for line, opens := range map[string]bool{"push": true, "push --delete": false, "pull --delete": false,
		"push --delete --theirs --json": false, "push --delete --yes": true, "pull --delete --yes": true,
		"pull --delete --dry-run": true} {
		c := &console.Console{In: strings.NewReader("y\n"), Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}
		root := &cobra.Command{Use: "loci", SilenceUsage: true, SilenceErrors: true}
		root.PersistentFlags().BoolVar(&c.JSON, "json", false, "")
		root.AddCommand(Commands(c, func(context.Context) (*Session, error) { return nil, errOpened })...)
		root.SetArgs(strings.Fields(line))
		err := root.Execute()
		if opens && err != errOpened {
			t.Errorf("%s: %v", line, err)
		}
		var usage command.UsageError
		if !opens && (!errors.As(err, &usage) || !strings.Contains(err.Error(), "--delete asks first") ||
			!strings.Contains(err.Error(), "add --yes")) {
			t.Errorf("%s: %v", line, err)
		}
	}
}
