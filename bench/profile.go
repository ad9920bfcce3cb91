package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
	"strings"
	"syscall"

	"github.com/loci-memory/loci/internal/server"
)

// profileVariable names the file of a server's profile. With it this program is the server.
const profileVariable = "BENCH_PROFILE"

var profileCount int

func (b *bench) nextProfile() string {
	profileCount++
	return fmt.Sprintf("%s.%d", b.profile, profileCount)
}

// serveProfiled runs `loci serve` with a CPU profile.
func serveProfiled(args []string) error {
	flags := map[string]string{}
	for i := 0; i+1 < len(args); i += 2 {
		flags[strings.TrimPrefix(args[i], "--")] = args[i+1]
	}
	s, _, err := server.Load(flags, os.Environ())
	if err != nil {
		return err
	}
	f, err := os.Create(os.Getenv(profileVariable))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return server.Serve(ctx, s, os.Stdout, os.Stderr)
}
