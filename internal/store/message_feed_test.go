package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
)

func TestServersNotifyEachOther(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		one, other := d.Open(t, store.Options{}), d.Open(t, store.Options{})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		payloads, ended := make(chan string, 10), make(chan error, 1)
		go func() { ended <- other.ListenServers(ctx, func(payload string) { payloads <- payload }) }()
		if d.Address != "" {
			for _, want := range []string{"", "first", "'; second --"} { // an empty one begins
				if want != "" {
					if err := one.NotifyServers(t.Context(), want); err != nil {
						t.Fatal(err)
					}
				}
				select {
				case got := <-payloads:
					if got != want {
						t.Errorf("got %q, want %q", got, want)
					}
				case err := <-ended:
					t.Fatal(err)
				case <-time.After(time.Minute):
					t.Fatalf("%q does not arrive", want)
				}
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
