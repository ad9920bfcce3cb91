package client_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/loci-memory/loci/client"
)

func TestErrorMentionsCauseOnce(t *testing.T) {
	t.Parallel()
	c, err := client.New("http://127.0.0.1:1", client.WithRetry(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.AccountMe(t.Context())
	if !errors.Is(err, syscall.ECONNREFUSED) || strings.Count(err.Error(), "refused") != 1 {
		t.Error(err)
	}
}
