// Package version has the command version, and describes the binary.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/spf13/cobra"

	"github.com/loci-memory/loci/internal/cli/command"
	"github.com/loci-memory/loci/internal/cli/console"
	"github.com/loci-memory/loci/internal/server"
)

// An Info describes the binary.
type Info struct {
	Version  string `json:"version"`
	Contract string `json:"contract"` // of the API
	Commit   string `json:"commit,omitzero"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Get returns the build information that the Go tool wrote into the binary.
var Get = sync.OnceValue(func() Info {
	b := Info{Version: server.Version, Contract: server.Contract, Go: runtime.Version(),
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
func (b Info) String() string {
	return fmt.Sprintf("loci %s (contract %s), %s, %s", b.Version, b.Contract, b.Go, b.Platform)
}

// Command returns loci version.
func Command(c *console.Console) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Example: "loci version",
		Short:   "Show the version of Loci",
		Args:    command.ExactArgs(),
		RunE: func(*cobra.Command, []string) error {
			b := Get()
			return c.PrintResult(b, b.String()+"\n")
		},
	}
}
