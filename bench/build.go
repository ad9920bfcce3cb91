package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loci-memory/loci/bench/corpus"
	"github.com/loci-memory/loci/internal/analysis"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/vector"
)

// tags and cgo choose the driver of SQLite.
var driverBuilds = map[string]struct{ tags, cgo string }{"mattn": {"sqlite_fts5", "1"}, "modernc": {"", "0"}}

// build builds Loci and the floor with every driver, as the Makefile does.
func (b *bench) build() error {
	for _, driver := range b.drivers {
		config, ok := driverBuilds[driver]
		if !ok {
			return fmt.Errorf("there is no driver %q: mattn, modernc", driver)
		}
		for name, path := range map[string]string{"loci": "./cmd/loci", "floor": "./bench/floor"} {
			c := exec.CommandContext(b.ctx, "go", "build", "-trimpath", "-tags", config.tags, "-o",
				b.binary(name, driver), path)
			c.Env = append(os.Environ(), "GOAMD64=v2", "CGO_ENABLED="+config.cgo)
			if out, err := c.CombinedOutput(); err != nil {
				return fmt.Errorf("build %s with %s: %w\n%s", path, driver, err, out)
			}
		}
	}
	return nil
}

func (b *bench) binary(name, driver string) string {
	return filepath.Join(b.cache, name+"-"+driver)
}

// runJSON runs a program that prints one JSON object of texts.
func (b *bench) runJSON(argv ...string) (map[string]string, error) {
	c := exec.CommandContext(b.ctx, argv[0], argv[1:]...)
	c.Env, c.Stderr = environ(), os.Stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%v: %w", argv, err)
	}
	output := map[string]string{}
	return output, json.Unmarshal(out, &output)
}

// environ returns the environment without settings of Loci, so that a run does not depend on them.
func environ() []string {
	return slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "LOCI_") })
}

// cacheKey identifies databases in the cache by the versions of notes, tables, documents and segments.
func cacheKey() (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, corpus.Version, analysis.Version, index.FormatVersion, vector.ChunkVersion)
	err := filepath.WalkDir("internal/sqldb/migrations", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		h.Write(text)
		return err
	})
	return fmt.Sprintf("%x", h.Sum(nil)[:4]), err
}
