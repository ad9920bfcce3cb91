package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/loci-memory/loci/internal/doctor"
	"github.com/loci-memory/loci/internal/testenv"
)

func TestAdminDoctorReportsAsTableAndAsJSON(t *testing.T) {
	t.Parallel()
	dir, run := newAdmin(t)
	text := run(exitOK, "doctor")
	expectText(t, text, "target      SQLite in "+dir, "database    ok: ", "backup      warn: none is known\n"+
		"            -> run loci admin backup regularly\n")
	testenv.NoError(t, os.RemoveAll(filepath.Join(dir, "files")))
	testenv.NoError(t, os.WriteFile(filepath.Join(dir, "files"), nil, 0o600))
	expectText(t, run(exitFailure, "doctor"), "files       fail: ")
	var r doctor.Report
	testenv.NoError(t, json.Unmarshal([]byte(run(exitFailure, "doctor", "--json")), &r))
	if r.OK || r.Version == "" || len(r.Checks) != 14 {
		t.Errorf("%+v", r)
	}
	expectText(t, run(exitUsage, "doctor", "extra"), "doctor")
}
