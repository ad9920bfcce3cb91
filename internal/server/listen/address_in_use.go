package listen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"syscall"
	"time"

	"github.com/loci-memory/loci/internal/httpapi"
)

// healthTimeout is the time in which the program that uses an address must answer.
const healthTimeout = 5 * time.Second

// explainListen adds advice to a listener's error where the address is in use.
// flag chooses the address.
func explainListen(ctx context.Context, err error, address, flag string) error {
	if !errors.Is(err, syscall.EADDRINUSE) {
		return err
	}
	if version := detectRunningLoci(ctx, address); version != "" {
		return fmt.Errorf("a server of Loci %s runs at %s already: use it, or choose another address with --%s",
			version, address, flag)
	}
	return fmt.Errorf("another program uses the address %s: end it, or choose another address with --%s", address,
		flag)
}

// detectRunningLoci returns the version of the Loci server at an address, or "".
func detectRunningLoci(ctx context.Context, address string) string {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, LocalURL(address)+"/health", nil)
	if err != nil {
		return ""
	}
	w, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return ""
	}
	defer w.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(w.Body, 4096))
	if health, isLoci := httpapi.ParseHealth(body); isLoci {
		return health.Version
	}
	return ""
}
