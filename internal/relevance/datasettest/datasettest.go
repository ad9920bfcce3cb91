// Package datasettest finds judged datasets for tests. docs and code are part of the repository, so that every checkout
// has a quality gate. Larger ones are in ../shared/data/retrieval on some machines.
package datasettest

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/relevance"
)

// Present returns the datasets that exist here, and logs the others. It fails the test if one of the repository is
// missing.
func Present(t testing.TB, names ...string) []string {
	t.Helper()
	var absent []string
	for _, name := range names {
		if _, err := os.Stat(Dir(t, name)); err != nil {
			absent = append(absent, name)
		}
	}
	if len(absent) > 0 {
		t.Logf("%d of %d datasets are absent from %s: %v", len(absent), len(names), sharedDir, absent)
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(absent, name) })
}

const sharedDir = "../shared/data/retrieval"

// Dir returns the folder of a dataset, with docs.jsonl and queries.jsonl.
func Dir(t testing.TB, name string) string {
	t.Helper()
	root := moduleRoot(t)
	if name != "docs" && name != "code" {
		return filepath.Join(root, sharedDir, name)
	}
	dir := filepath.Join(root, "internal/relevance/testdata", name)
	if _, err := os.Stat(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// moduleRoot returns the folder of go.mod; tests run in the folders of their packages.
func moduleRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for ; err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	t.Fatalf("no go.mod above the working directory: %v", err)
	return ""
}

// Read reads a dataset.
func Read(t testing.TB, name string) relevance.Dataset {
	t.Helper()
	d, err := relevance.ReadDataset(Dir(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return d
}
