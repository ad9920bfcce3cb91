package integrity

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/memorydb"
)

// Objects are the objects of attachments, which are outside of the database.
type Objects interface {
	// List yields all objects, in any order.
	List(ctx context.Context) iter.Seq2[Object, error]
	// Head returns an object, and whether it exists.
	Head(ctx context.Context, id loci.ID) (o Object, exists bool, err error)
	Delete(ctx context.Context, id loci.ID) error
	// Shared reports whether other databases may keep their objects in the same place.
	Shared() bool
}

// An Object describes an object.
type Object struct {
	ID         loci.ID
	Size       int64
	ModifiedAt time.Time
}

// minOrphanAge is the age at which an object without an attachment is reported.
const minOrphanAge = 24 * time.Hour

// objectBatchSize is the number of attachments or objects of one query.
const objectBatchSize = 1000

// An objectEntry is an object in a sorted list of all of them. It is small, because there may be millions.
type objectEntry struct {
	id    [16]byte
	size  int64
	isOld bool
	known bool // an attachment has it
}

// parseID returns the bytes of a UUID.
func parseID(id loci.ID) (b [16]byte, ok bool) {
	n, err := hex.Decode(b[:], []byte(strings.ReplaceAll(string(id[:min(len(id), 36)]), "-", "")))
	return b, err == nil && n == len(b) && id.Valid()
}

func (e objectEntry) ID() loci.ID {
	h := hex.EncodeToString(e.id[:])
	return loci.ID(h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:])
}

// An objectsError is an error of the place of the objects.
type objectsError struct{ error }

// An objectCheck compares the active attachments with their objects.
type objectCheck struct {
	*Checker
	objects  Objects
	sum      *Report
	repair   bool
	progress func(rows int)
	keeps    bool // deletes none: a damaged or lost row may name it

	list []objectEntry // sorted by id
}

// checkObjects compares the active attachments with their objects. While the objects cannot be read it reports that. A
// server may write meanwhile: a finding is compared with the present row and object.
func (c *Checker) checkObjects(ctx context.Context, sum *Report, o Options, progress func(rows int)) error {
	x := &objectCheck{Checker: c, objects: o.Objects, sum: sum, repair: o.Repair, progress: progress,
		keeps: sum.Found > sum.Repaired}
	err := x.load(ctx)
	if err == nil {
		err = x.checkActive(ctx)
	}
	if err == nil {
		err = x.checkOrphans(ctx)
	}
	if away, ok := errors.AsType[objectsError](err); ok && ctx.Err() == nil {
		sum.add(Inconsistency{Kind: InconsistentObjects, Detail: fmt.Sprintf("the file store cannot be read, so that "+
			"the files of attachments were not checked to the end: %v", away.error)})
		return nil
	}
	return c.reportUnreadable(err, sum, "the attachments cannot be read")
}

// load lists all objects.
func (x *objectCheck) load(ctx context.Context) error {
	old := time.Now().Add(-minOrphanAge)
	for o, err := range x.objects.List(ctx) {
		if err != nil {
			return objectsError{err}
		}
		if id, ok := parseID(o.ID); ok {
			x.list = append(x.list, objectEntry{id: id, size: o.Size, isOld: o.ModifiedAt.Before(old)})
		}
		if len(x.list)%objectBatchSize == 0 {
			x.progress(objectBatchSize)
		}
	}
	slices.SortFunc(x.list, func(a, b objectEntry) int { return bytes.Compare(a.id[:], b.id[:]) })
	return nil
}

// find returns the object of an attachment, or nil.
func (x *objectCheck) find(id loci.ID) *objectEntry {
	b, ok := parseID(id)
	i, found := slices.BinarySearchFunc(x.list, b, func(e objectEntry, b [16]byte) int {
		return bytes.Compare(e.id[:], b[:])
	})
	if !ok || !found {
		return nil
	}
	return &x.list[i]
}

// storedSize is the size of an attachment x, or -1 for an impossible one, which checkAttachments reports.
var storedSize = ` CASE WHEN` + sqldb.IntegerCondition("x.size", 0, math.MaxInt64) + `THEN x.size ELSE -1 END `

// checkActive looks for the object of each active attachment.
func (x *objectCheck) checkActive(ctx context.Context) error {
	type row struct {
		rowID, size int64
		id          loci.ID
	}
	for after := int64(0); ; {
		list, err := sqldb.SystemRead(ctx, x.db, "list active attachments", func(t *sqldb.Tx) (list []row, err error) {
			err = t.Query(`SELECT x.row_id,`+storedSize+`, x.id FROM attachments x WHERE x.row_id > ?1 AND x.active
				ORDER BY x.row_id LIMIT ?2`, []any{after, objectBatchSize}, func(r sqldb.Row) error {
				var a row
				err := r.Scan(&a.rowID, &a.size, &a.id)
				list = append(list, a)
				return err
			})
			return list, err
		})
		if err != nil || len(list) == 0 {
			return err
		}
		x.progress(len(list))
		for _, a := range list {
			e := x.find(a.id)
			if e != nil {
				e.known = true
			}
			if e == nil || a.size >= 0 && e.size != a.size {
				if err := x.confirm(ctx, a.id); err != nil {
					return err
				}
			}
			after = a.rowID
		}
	}
}

// confirm reports an active attachment whose object is not there, or has another size.
func (x *objectCheck) confirm(ctx context.Context, id loci.ID) error {
	if x.sum.Found >= maxReported {
		x.sum.Found++
		return nil
	}
	o, exists, err := x.objects.Head(ctx, id)
	if err != nil {
		return objectsError{err}
	}
	size, err := sqldb.SystemRead(ctx, x.db, "read an attachment again", func(t *sqldb.Tx) (size int64, err error) {
		return size, t.QueryRow(`SELECT`+storedSize+`FROM attachments x WHERE x.id = ?1 AND x.active`, []any{id},
			[]any{&size})
	})
	f := Inconsistency{Kind: InconsistentObjects, ID: string(id)}
	switch {
	case errors.Is(err, sqldb.ErrNoRows):
		return nil
	case err != nil:
		return err
	case !exists:
		f.Detail = "the file of the attachment is missing in the file store"
	case o.Size != size:
		f.Detail = fmt.Sprintf("the file of the attachment has %d bytes, and had %d", o.Size, size)
	default:
		return nil
	}
	if x.repair {
		f.Repair = restoreAdvice
	}
	x.sum.add(f)
	return nil
}

// checkOrphans reports old objects without an attachment, and deletes them for a repair.
func (x *objectCheck) checkOrphans(ctx context.Context) error {
	others := slices.ContainsFunc(x.list, func(e objectEntry) bool { return e.known })
	x.list = slices.DeleteFunc(x.list, func(e objectEntry) bool { return e.known || !e.isOld })
	for part := range slices.Chunk(x.list, objectBatchSize) {
		ids := make([]loci.ID, len(part))
		for i, e := range part {
			ids[i] = e.ID()
		}
		named, err := x.namedObjects(ctx, ids)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if named[id] {
				continue
			}
			if err := x.reportOrphan(ctx, id, others || !x.objects.Shared()); err != nil {
				return err
			}
		}
		x.progress(len(part))
	}
	return nil
}

// namedObjects returns those of some objects that an attachment has, or that a job deletes.
func (x *objectCheck) namedObjects(ctx context.Context, ids []loci.ID) (named map[loci.ID]bool, err error) {
	return sqldb.SystemRead(ctx, x.db, "look for the attachments of objects",
		func(t *sqldb.Tx) (map[loci.ID]bool, error) {
			named := map[loci.ID]bool{}
			these := `(SELECT list.value FROM ` + fmt.Sprintf(t.Dialect.StringRows, 1) + `)`
			err := t.Query(`SELECT x.id FROM attachments x WHERE x.id IN `+these+` UNION ALL SELECT j.subject FROM jobs j
				WHERE j.kind = ?2 AND j.subject IN `+these,
				[]any{sqldb.EncodeStrings(ids), memorydb.DeleteObjectJob}, func(r sqldb.Row) error {
					var id loci.ID
					err := r.Scan(&id)
					named[id] = true
					return err
				})
			return named, err
		})
}

// reportOrphan reports an object without an attachment, if it is still there. A repair deletes it, unless it may be one
// of another database.
func (x *objectCheck) reportOrphan(ctx context.Context, id loci.ID, isOwn bool) error {
	f := Inconsistency{Kind: InconsistentObjects, ID: string(id),
		Detail: "no attachment has this file of the file store"}
	switch {
	case x.repair && x.keeps:
		f.Repair = "kept: a row that is damaged or lost may name it. First restore what this check names"
	case x.repair && isOwn:
		if err := x.objects.Delete(ctx, id); err != nil {
			return objectsError{err}
		}
		f.Repair, f.Repaired = "deleted it", true
	case x.repair:
		f.Repair = "could not be repaired: no file there belongs to this database. Is LOCI_BLOBS that of another one?"
	case x.sum.Found < maxReported:
		if _, exists, err := x.objects.Head(ctx, id); err != nil {
			return objectsError{err}
		} else if !exists {
			return nil
		}
	}
	x.sum.add(f)
	return nil
}
