package op_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

func TestACallerThatLeavesIsNoError(t *testing.T) {
	t.Parallel()
	for _, gone := range []bool{true, false} {
		ctx, leave := context.WithCancel(context.Background())
		defer leave()
		var log bytes.Buffer
		h := host(&toy{})
		h.Log = slog.New(slog.NewTextHandler(&log, nil))
		h.Admit = func(context.Context, *op.Op, *op.Call) (*loci.Actor, error) {
			if gone {
				leave()
			}
			return nil, fmt.Errorf("the store: %w", context.Canceled)
		}
		if _, err := h.Call(ctx, search.Op, &op.Call{}, op.Args{}); err == nil {
			t.Error("no error")
		}
		if got := strings.Contains(log.String(), "level=ERROR"); got == gone {
			t.Errorf("gone is %v: %s", gone, log.String())
		}
	}
}
