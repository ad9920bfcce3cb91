package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/spf13/cobra"
)

// A build tells what was built from what.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitzero"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// version returns what the Go tool wrote into the binary.
var version = sync.OnceValue(func() build {
	b := build{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Commit = s.Value
		}
	}
	return b
})

func (p *program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say which Loci this is",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := version()
			if p.json {
				return p.print(b)
			}
			_, err := fmt.Fprintf(p.out, "loci %s, %s, %s\n", b.Version, b.Go, b.Platform)
			return err
		},
	}
}
