package admin

import (
	"errors"
	"fmt"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/console"
	"github.com/loci-memory/loci/internal/server"
)

// ServeCommand returns loci serve.
func ServeCommand(on *console.Console) *cobra.Command {
	c := commands{on}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the server",
		Long: "Runs the server until SIGINT or SIGTERM. Without settings it listens on 127.0.0.1:7007 and keeps all " +
			"in one folder.\n" +
			"A setting is a flag, a variable or a line of loci.toml. A key is no flag here, because a list of " +
			"processes shows flags:\n" +
			"set LOCI_EMBED_KEY and LOCI_SMTP_URL, name files with LOCI_EMBED_KEY_FILE and LOCI_SMTP_URL_FILE, or " +
			"use embed-key and\nsmtp-url in loci.toml.",
		Example: "loci serve\nloci serve --data /var/lib/loci --listen 127.0.0.1:7007",
		Args:    command.ExactArgs(),
	}
	settings := c.settings(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		signal.Ignore(syscall.SIGPIPE) // the reader of the messages and the log may end before the server
		s, err := settings()
		if err != nil {
			return err
		}
		if width, _ := c.Terminal(c.Out); !s.IsGiven("drain") && (width > 0 || c.IsInteractive()) {
			s.Drain = 0 // Ctrl-C ends it at once
		}
		if width, _ := c.Terminal(c.Err); s.LogFormat == server.LogFormatAuto && width > 0 {
			s.LogFormat = server.LogFormatText
		}
		return server.Serve(cmd.Context(), s, c.Out, c.Err)
	}
	return cmd
}

// settings adds a flag for each setting of the server, or for the given ones only. It returns a function that loads the
// settings once the flags are parsed.
func (c commands) settings(cmd *cobra.Command, only ...string) func() (server.Settings, error) {
	given := map[string]string{}
	for _, s := range server.Catalogue {
		if len(only) > 0 && !slices.Contains(only, s.Flag) {
			continue
		}
		usage := fmt.Sprintf("%s (%s", s.Help, s.Env)
		if s.Default != "" && !strings.Contains(s.Help, "default:") {
			usage += "; default: " + s.Default
		}
		cmd.Flags().Func(s.Flag, usage+")", func(value string) error {
			given[s.Flag] = value
			return nil
		})
		cmd.Flags().Lookup(s.Flag).Hidden = s.Secret()
	}
	return func() (server.Settings, error) {
		s, warnings, err := server.Load(given, c.Environ)
		for _, w := range warnings {
			fmt.Fprintf(c.Err, "loci: warning: %s\n", w)
		}
		if bad, ok := errors.AsType[server.FlagError](err); ok {
			err = command.UsageError(bad.Error())
		} else if err != nil {
			err = loci.Errorf(loci.CodeInvalidQuery, "%v", err)
		}
		return s, err
	}
}
