package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/server"
	"github.com/loci-memory/loci/internal/sqldb/postgres"
)

// cures say what an operator does about a problem of package server.
var cures = map[string]string{
	"database": "start the database, or correct LOCI_DB and --data",
	"server":   "wait, or start it again",
	"index":    "run loci admin check --repair",
	"file":     "run loci admin check, and restore what it names from a backup",
	"samples":  "run loci admin check, then loci admin check --repair; restore from a backup what that leaves",
	"disk":     "make room on the disk, or move the data folder to another one",
}

// checkDatabase opens the database and tries a write. Without it, the checks that need it are left out.
func (x *examination) checkDatabase(ctx context.Context) {
	if err := x.RequireDatabase(ctx); err != nil {
		x.refuse(err)
		return
	}
	status, err := x.SchemaStatus(ctx)
	switch {
	case err != nil:
		x.refuse(err)
		return
	case status.Current > status.Latest:
		x.add("schema", Fail, fmt.Sprintf("is %d, and this program knows %d", status.Current, status.Latest),
			"use the newer loci that made it")
		return
	case len(status.Pending) > 0:
		x.add("schema", Warn, fmt.Sprintf("is %d, and this program needs %d: the database was not examined",
			status.Current, status.Latest), "make a backup, then start loci serve, or run loci admin migrate")
		return
	}
	a, err := server.OpenAdmin(ctx, x.Settings)
	if err != nil {
		x.refuse(err)
		return
	}
	x.admin, x.Settings = a, a.Settings()
	ready := a.Readiness(ctx)
	if err = a.Store.TryWrite(ctx); err != nil && ready.OK {
		ready.Failed = []server.Problem{{Check: "database", Cause: errorText(err)}}
	}
	if !x.problems("database", ready.Failed) {
		x.ok("database", "a row was written, read back and deleted")
	}
	x.ok("schema", "is %d, the newest", status.Current)
	x.checkMarker()
	if !x.problems("damage", withoutDisk(ready.Damage)) {
		x.ok("damage", "none was met")
	}
	skew, known, err := a.Store.ClockSkew(ctx)
	if known && err == nil {
		x.skew = &skew
	}
}

// refuse reports why the database cannot be opened.
func (x *examination) refuse(err error) {
	switch {
	case errors.Is(err, postgres.ErrOtherDatabase):
		detail, cure, _ := strings.Cut(errorText(err), ": ")
		x.add("marker", Fail, detail, cure)
	case loci.Is(err, loci.CodeConflict):
		x.add("schema", Fail, errorText(err), "restore a backup, or correct LOCI_DB and --data")
	default:
		x.add("database", Fail, errorText(err), cures["database"])
	}
}

// problems reports problems as a failed check, if there are any.
func (x *examination) problems(name string, list []server.Problem) bool {
	for _, p := range list {
		x.add(name, Fail, p.Check+": "+p.Cause, cures[p.Check])
	}
	return len(list) > 0
}

// withoutDisk returns the damage other than a full disk, which has a check of its own.
func withoutDisk(list []server.Problem) (rest []server.Problem) {
	for _, p := range list {
		if p.Check != "disk" {
			rest = append(rest, p)
		}
	}
	return rest
}

// checkMarker reports whether another database would be noticed at the next start.
func (x *examination) checkMarker() {
	path := x.IdentityPath()
	switch _, err := os.Stat(path); {
	case x.DB == "":
		x.ok("marker", "loci.created lies beside the database")
	case path == "":
		x.add("marker", Warn, "there is no data folder that knows the database", "name one with LOCI_DATA")
	case err != nil:
		x.add("marker", Warn, "there is no "+path+": a database that is made anew would not be noticed",
			"start loci serve with this data folder, which writes it")
	default:
		x.ok("marker", "the database is that of %s", path)
	}
}
