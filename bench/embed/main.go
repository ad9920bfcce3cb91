//go:build linux

// Embed measures the built-in embedder, with each variant of its kernels, beside ONNX Runtime with the same model. ONNX
// Runtime computes in float32, and in int8 (quantized dynamically, per channel). If the processor has AVX-512, it also
// computes in float32 without it, as on a processor with AVX2. Figures are the CPU time of a process with one thread.
// All sides take turns in every round, and medians of the rounds are shown.
//
//	go run ./bench/embed [-rounds 9] [-tokens 12,64,128,256]
//
// ONNX Runtime is installed from PyPI, in the versions of requirements.txt, into a temporary folder that later runs
// reuse. Without Python or a network, the built-in embedder is measured alone.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"

	"golang.org/x/sys/cpu"

	"github.com/loci-memory/loci/internal/embed/kernel"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "embed:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	rounds := flag.Int("rounds", 9, "how often each side has its turn")
	lengths := flag.String("tokens", "12,64,128,256", "lengths of texts, with [CLS] and [SEP]")
	flag.Parse()
	var texts []text
	for _, field := range strings.Split(*lengths, ",") {
		n, err := strconv.Atoi(field)
		if err != nil || n < 3 || n > 256 {
			return fmt.Errorf("%q is no number of tokens from 3 to 256", field)
		}
		texts = append(texts, textOfTokens(n))
	}
	if *rounds < 1 {
		return fmt.Errorf("%d rounds", *rounds)
	}

	r := report{}
	for _, v := range kernel.Variants() {
		r.sides = append(r.sides, newBuiltIn(v))
	}
	ort, err := startRuntime(ctx, false)
	if err != nil {
		r.skipped = append(r.skipped, "ONNX Runtime is absent: "+err.Error())
	} else {
		defer ort.close()
		r.version = ort.version
		r.sides = append(r.sides, ort.side("fp32"), ort.side("int8"))
	}
	if err == nil && cpu.X86.HasAVX512F {
		if ort, err = startRuntime(ctx, true); err != nil {
			r.skipped = append(r.skipped, "ONNX Runtime without AVX-512 is absent: "+err.Error())
		} else {
			defer ort.close()
			r.sides = append(r.sides, ort.side("fp32"))
		}
	}
	for _, name := range []string{"avx2", "avx512vnni"} {
		if r.indexOf(name) < 0 {
			r.skipped = append(r.skipped, "this processor does not run "+name)
		}
	}
	if err := r.measure(ctx, texts, *rounds); err != nil {
		return err
	}
	r.print(os.Stdout)
	return nil
}
