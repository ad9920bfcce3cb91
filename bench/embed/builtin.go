//go:build linux

package main

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/loci-memory/loci/internal/embed"
	"github.com/loci-memory/loci/internal/embed/kernel"
)

// A side embeds a text repeatedly and returns the CPU milliseconds of one run, and the vector.
type side struct {
	name  string
	embed func(ctx context.Context, text string, runs int) (float64, []float32, error)
}

// newBuiltIn returns the built-in embedder. Its time includes the tokenizer.
func newBuiltIn(v *kernel.Variant) side {
	m := embed.NewMiniLMWith(v)
	return side{v.Name(), func(ctx context.Context, text string, runs int) (float64, []float32, error) {
		if pieces, _ := m.CountTokens(text); pieces != len(strings.Fields(text)) {
			return 0, nil, fmt.Errorf("%q has words that are not in the vocabulary", text)
		}
		texts := []string{text}
		var vectors [][]float32
		began, err := processCPU()
		for range runs {
			if err == nil {
				vectors, err = m.Embed(ctx, texts)
			}
		}
		if err != nil {
			return 0, nil, err
		}
		ended, err := processCPU()
		return (ended - began) / float64(runs), vectors[0], err
	}}
}

// processCPU returns the CPU time of this process in milliseconds.
func processCPU() (float64, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		return 0, fmt.Errorf("the clock of the process: %w", err)
	}
	return float64(t.Nano()) / 1e6, nil
}

// A text has words that are one token each.
type text struct {
	tokens int
	words  string
}

const sampleWords = `the old man keeps two books and in the first he writes down every ship that comes in from the sea with
	the name of its captain and the hour of the day but in the second he puts what people told him at night`

func textOfTokens(tokens int) text {
	words, t := strings.Fields(sampleWords), make([]string, tokens-2)
	for i := range t {
		t[i] = words[i%len(words)]
	}
	return text{tokens, strings.Join(t, " ")}
}
