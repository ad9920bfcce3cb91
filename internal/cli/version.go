package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/server"
)

// A buildInfo tells what was built from what.
type buildInfo struct {
	Version  string `json:"version"`
	Contract string `json:"contract"` // of the API
	Commit   string `json:"commit,omitzero"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// version returns what this binary is, with what the Go tool wrote into it.
var version = sync.OnceValue(func() buildInfo {
	b := buildInfo{Version: server.Version, Contract: server.Contract, Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Commit = s.Value
		}
	}
	return b
})

// String returns the line that loci version and loci --version print.
func (b buildInfo) String() string {
	return fmt.Sprintf("loci %s (contract %s), %s, %s", b.Version, b.Contract, b.Go, b.Platform)
}

func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say which Loci this is",
		Args:  exactArgs(),
		RunE: func(*cobra.Command, []string) error {
			b := version()
			if p.json {
				return p.printJSON(b)
			}
			_, err := fmt.Fprintln(p.out, b)
			return err
		},
	}
}
