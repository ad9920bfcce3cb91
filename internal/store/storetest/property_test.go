package storetest_test

import (
	"os"
	"testing"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// A failedTest records that a property failed.
type failedTest struct {
	rapid.TB
	failed bool
}

func (f *failedTest) Errorf(string, ...any) { f.failed = true }
func (f *failedTest) Fail()                 { f.failed = true }
func (f *failedTest) FailNow()              { f.failed = true }
func (f *failedTest) Failed() bool          { return f.failed }
func (f *failedTest) Logf(string, ...any)   {}

var engines = []storetest.Database{{Engine: "sqlite", Dir: "x"}, {Engine: "postgres", Address: "x"}}

func TestCheckRunsFewerCasesOnPostgres(t *testing.T) {
	t.Parallel()
	ran := map[string]int{}
	for _, d := range engines {
		d.Check(t, func(*rapid.T) { ran[d.Engine]++ })
	}
	all := ran["sqlite"]
	want := (all + 4) / 5
	if testenv.Whole() {
		want = all
	}
	testenv.Equal(t, ran["postgres"], want, "cases on PostgreSQL")
}

func TestCheckFindsTheSmallestFailingCase(t *testing.T) {
	t.Parallel()
	t.Cleanup(func() { os.RemoveAll("testdata") }) // rapid stores the case
	for _, d := range engines {
		test, last := &failedTest{TB: t}, 0
		d.Check(test, func(r *rapid.T) {
			if n := rapid.IntRange(0, 1<<20).Draw(r, "number"); n >= 1000 {
				last = n
				r.Fatalf("%d is too large", n)
			}
		})
		if !test.failed || last != 1000 {
			t.Errorf("%s: failed %t at %d, want 1000", d.Engine, test.failed, last)
		}
	}
}
