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
	"github.com/loci-memory/loci/internal/replica"
	"github.com/loci-memory/loci/internal/testenv"
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

func TestSummaryTellsWhichSideChanged(t *testing.T) {
	t.Parallel()
	here, there := replica.Change{Action: "updated", Side: "local"}, replica.Change{Action: "created", Side: "server"}
	gone := replica.Change{Action: "deleted", Side: "server"}
	const pushed = "Pushed to https://loci.example.org, workspace Personal: "
	const pulled = "Pulled from https://loci.example.org, workspace Personal: "
	for _, c := range []struct {
		name    string
		changes []replica.Change
		want    string
	}{
		{"push", []replica.Change{there, gone}, pushed + "1 created, 0 updated, 1 deleted, 3 unchanged.\n"},
		{"push", []replica.Change{here}, pushed + "0 created, 0 updated, 0 deleted, 3 unchanged.\n" +
			"This device took the version of the server (--theirs): 0 created, 1 updated, 0 deleted.\n"},
		{"pull", []replica.Change{here}, pulled + "0 created, 1 updated, 0 deleted, 3 unchanged.\n"},
		{"pull", []replica.Change{here, there, gone}, pulled + "0 created, 1 updated, 0 deleted, 3 unchanged.\n" +
			"The server took the version of this device (--mine): 1 created, 0 updated, 1 deleted.\n"},
	} {
		var out bytes.Buffer
		for _, dryRun := range []bool{false, true} {
			out.Reset()
			tr := transfer{Console: &console.Console{Out: &out}, name: c.name}
			r := replica.Report{Server: "https://loci.example.org", Workspace: "Personal", Unchanged: 3,
				Changes: c.changes, DryRun: dryRun}
			testenv.NoError(t, tr.print(r))
			if !dryRun && out.String() != c.want {
				t.Errorf("%s: %s\nwant %s", c.name, out.String(), c.want)
			}
			if dryRun && strings.Contains(out.String(), " took ") {
				t.Errorf("a dry run of %s: %s", c.name, out.String())
			}
		}
	}
}
