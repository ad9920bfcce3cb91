package storetest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/sqldb/sqlite"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// engineRun is the test that TestRequiredEngineIsNotSkipped runs in processes of its own.
const engineRun = "TestEachGivesEachEngineADatabase"

func TestEachGivesEachEngineADatabase(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		if (d.Dir == "") == (d.Address == "") || !strings.HasSuffix(t.Name(), "/"+d.Engine) {
			t.Errorf("%+v", d)
		}
		testenv.EqualSlices(t, d.Query(t, `SELECT CAST(count(*) AS TEXT) FROM users`), []string{"0"}, "users")
	})
}

func TestRequiredEngineIsNotSkipped(t *testing.T) {
	t.Parallel()
	otherDriver := map[string]string{"mattn": "modernc", "modernc": "mattn"}[sqlite.Driver]
	servers := map[string]string{"pg15": os.Getenv("LOCI_TEST_PG15"), "pg18": os.Getenv("LOCI_TEST_PG18")}
	for _, x := range []struct {
		required string
		named    string // the only engine with a server, if this run has it
		absent   string // the engine that fails the test, or "" if it passes
	}{
		{"", "", ""}, {sqlite.Driver, "", ""}, {"versitygw", "", ""}, {otherDriver, "", otherDriver},
		{"pg15", "", "pg15"}, {sqlite.Driver + ",pg18", "", "pg18"}, {"all", "", "pg15"}, {"all", "", "pg18"},
		{"pg15", "pg15", ""}, {sqlite.Driver + ",pg18", "pg18", ""}, {"pg15,pg18", "pg15", "pg18"},
		{"all", "pg18", "pg15"}, {"", "pg15", ""}, {"", "pg18", ""},
	} {
		if x.named != "" && servers[x.named] == "" {
			continue
		}
		t.Run(strings.Join([]string{x.required, x.named, x.absent}, " "), func(t *testing.T) {
			t.Parallel()
			c := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^"+engineRun+"$")
			c.Env = append(os.Environ(), "LOCI_TEST_REQUIRE="+x.required, "LOCI_TEST_PG15=", "LOCI_TEST_PG18=")
			if x.named != "" {
				c.Env = append(c.Env, "LOCI_TEST_P"+strings.ToUpper(x.named[1:])+"="+servers[x.named])
			}
			out, err := c.CombinedOutput()
			if (err != nil) != (x.absent != "") || !strings.Contains(string(out), x.absent) ||
				x.absent != "" && !strings.Contains(string(out), x.absent+" is required") {
				t.Errorf("%v\n%s", err, out)
			}
			for engine := range servers {
				ran := strings.Contains(string(out), "PASS: "+engineRun+"/"+engine)
				if ran != (engine == x.named) {
					t.Errorf("%s ran: %t\n%s", engine, ran, out)
				}
			}
		})
	}
}
