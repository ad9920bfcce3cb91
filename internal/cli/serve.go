package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

func (p *program) serve() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "serve",
		Short:   "Run the server",
		Long:    "Runs the server until SIGINT or SIGTERM. Without settings it listens on 127.0.0.1:7007 and keeps all in one folder.",
		Example: "loci serve\nloci serve --data /var/lib/loci --listen 127.0.0.1:7007",
		Args:    cobra.NoArgs,
	}
	given := p.settingFlags(cmd, nil)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return p.runServer(cmd.Context(), given(), p.environ, p.out, p.err)
	}
	return cmd
}

// settingFlags adds a flag for each setting of the server, or for those named
// alone, and returns what tells which of them were given.
func (p *program) settingFlags(cmd *cobra.Command, only []string) func() map[string]string {
	names := map[string]bool{}
	for _, s := range p.settings {
		wanted := only == nil
		for _, name := range only {
			wanted = wanted || name == s.flag
		}
		// What every command has is bound already.
		if !wanted || s.flag == "" || cmd.Flags().Lookup(s.flag) != nil {
			continue
		}
		usage := strings.TrimSuffix(s.help, ".") + " (" + s.env
		if s.usual != "" {
			usage += ", " + s.usual + " where it is absent"
		}
		cmd.Flags().String(s.flag, "", usage+")")
		names[s.flag] = true
	}
	return func() map[string]string {
		given := map[string]string{}
		for name := range names {
			if f := cmd.Flags().Lookup(name); f.Changed {
				given[name] = f.Value.String()
			}
		}
		return given
	}
}
