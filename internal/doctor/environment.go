package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/blob"
	"github.com/loci-memory/loci/internal/server"
	"github.com/loci-memory/loci/internal/server/backup"
	"github.com/loci-memory/loci/internal/server/listen"
	"github.com/loci-memory/loci/internal/sqldb/postgres"
	"github.com/loci-memory/loci/internal/sqldb/sqlite"
)

// lowFreeBytes is the room on a disk below which the check warns.
const lowFreeBytes = 1 << 30

// checkDisk reports the room on the disks of the data folder and of the files: the less of both.
func (x *examination) checkDisk() {
	if x.Data == "" {
		x.ok("disk", "not tried: there is no data folder")
		return
	}
	place, free := x.Data, x.freeBytes(x.Data)
	if x.admin != nil {
		if folder, is := x.admin.Bucket.(*blob.Folder); is && folder.FreeBytes() < free {
			place, free = "the "+folder.String(), folder.FreeBytes()
		}
	}
	detail := fmt.Sprintf("%d MiB are free in %s", free>>20, place)
	switch {
	case free < 0:
		x.ok("disk", "not tried: this system does not say what is free in %s", place)
	case free < server.MinFreeBytes:
		x.add("disk", Fail, detail+": writes fail", cures["disk"])
	case free < lowFreeBytes:
		x.add("disk", Warn, detail, cures["disk"])
	default:
		x.ok("disk", "%s", detail)
	}
}

// checkFiles writes an object to the file store, reads it back and deletes it.
func (x *examination) checkFiles(ctx context.Context) {
	if _, isFolder := x.admin.Bucket.(*blob.Folder); isFolder && isOfOther(x.Data) {
		x.add("files", Warn, "not tried: folders that root makes could not be written by the server",
			"run the command as the user of the server (sudo -u loci loci admin doctor)")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if err := tryObject(ctx, x.admin.Bucket); err != nil {
		x.add("files", Fail, x.admin.Bucket.String()+": "+errorText(err),
			"let the server read and write there; for a bucket set LOCI_BLOBS and the variables of AWS as the "+
				"server has them")
		return
	}
	x.ok("files", "an object was written, read back and deleted in the %s", x.admin.Bucket)
}

// tryObject writes an object, reads it back and deletes it, even after an interrupt.
func tryObject(ctx context.Context, b blob.Bucket) error {
	id, text := loci.NewID(time.Now()), "loci admin doctor"
	written, err := blob.Store(ctx, b, id, strings.NewReader(text), int64(len(text)))
	if err != nil {
		return err
	}
	read, err := blob.Read(ctx, b, id)
	if err == nil && read.SHA256 != written.SHA256 {
		err = errors.New("an object is read back with other bytes")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	if e := b.Delete(ctx, id); e != nil {
		err = errors.Join(err, fmt.Errorf("the object %s cannot be deleted: %w", id, e))
	}
	return err
}

// maxBackupAge is the age of the last backup above which the check warns.
const maxBackupAge = 48 * time.Hour

// checkBackup reports the age of the last backup.
func (x *examination) checkBackup() {
	if x.Data == "" {
		x.ok("backup", "not known: without a data folder, no backup is noted")
		return
	}
	cure := "run loci admin backup regularly"
	if x.DB != "" {
		cure = "run pg_dump regularly, and touch loci.backup in the data folder after it (loci admin backup prints how)"
	}
	switch at, err := backup.Last(x.Data); {
	case err != nil:
		x.add("backup", Warn, errorText(err), cure)
	case at.IsZero():
		x.add("backup", Warn, "none is known", cure)
	case time.Since(at) > maxBackupAge:
		x.add("backup", Warn, fmt.Sprintf("the last one is %d days old", int(time.Since(at).Hours()/24)), cure)
	default:
		x.ok("backup", "the last one is of %s", at.Format(time.DateTime))
	}
}

// checkSecrets reports secrets that other users of this machine can read.
func (x *examination) checkSecrets() {
	readable := x.ReadableSecrets
	info, err := os.Stat(x.Data)
	if err == nil && info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		readable = append(readable, fmt.Sprintf("other users of this machine may enter the data folder (mode %04o): "+
			"chmod 700 %s", info.Mode().Perm(), x.Data))
	}
	for _, text := range readable {
		detail, cure, _ := strings.Cut(text, ": ")
		x.add("secrets", Warn, detail, cure)
	}
	if len(readable) == 0 {
		x.ok("secrets", "other users cannot read them")
	}
}

// checkMail connects to the mail server.
func (x *examination) checkMail(ctx context.Context) {
	if x.Mail == nil {
		x.ok("mail", "not tried: LOCI_SMTP_URL is not set here")
		return
	}
	if err := x.Mail.Check(ctx); err != nil {
		x.add("mail", Fail, errorText(err), "correct LOCI_SMTP_URL: host, port, user and password; the server must "+
			"offer STARTTLS (smtp://) or TLS (smtps://)")
		return
	}
	x.ok("mail", "the mail server accepts the connection and the login")
}

// Bounds of the difference between two clocks. With more than maxSkew, codes and tokens expire wrongly.
const (
	warnSkew = 5 * time.Second
	maxSkew  = time.Minute
)

// checkClock compares the clock of this machine.
func (x *examination) checkClock() {
	if x.skew == nil {
		x.ok("clock", "not tried: there is no other clock")
		return
	}
	state := OK
	if d := x.skew.Abs(); d > maxSkew {
		state = Fail
	} else if d > warnSkew {
		state = Warn
	}
	if state == OK {
		x.ok("clock", "agrees with the other one")
		return
	}
	x.add("clock", state, fmt.Sprintf("this clock and that of the database or the proxy differ by %v",
		x.skew.Abs().Round(time.Second)), "synchronize both with NTP (timedatectl set-ntp true)")
}

// Metrics of the process of a server.
const (
	maxFiles  = "process_max_fds"
	openFiles = "process_open_fds"
)

// checkDescriptors reports whether the server may open enough files.
func (x *examination) checkDescriptors() {
	const cure = "set LimitNOFILE=65536 in the unit of systemd, or ulimit -n 65536 before loci serve"
	database := sqlite.FileDescriptors()
	if x.DB != "" {
		n, err := postgres.Connections(x.DB)
		if err != nil {
			return // the check of the database names it
		}
		database = n
	}
	budget, err := listen.NewFileBudget(database)
	whose := "of this process, which may have another limit than the server"
	if limit, known := x.metrics[maxFiles]; known {
		budget, err = listen.NewFileBudgetOf(uint64(limit), database)
		whose = fmt.Sprintf("%.0f of %.0f are open", x.metrics[openFiles], limit)
		if err == nil && x.metrics[openFiles] > limit*0.9 {
			err = errors.New(whose)
		}
	}
	switch {
	case err != nil:
		x.add("descriptors", Fail, errorText(err), cure)
	case budget.Warning() != "":
		x.add("descriptors", Warn, budget.Warning(), cure)
	default:
		x.ok("descriptors", "they suffice for %d connections (%s)", budget.Connections(), whose)
	}
}
