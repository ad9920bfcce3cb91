package store_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/index"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/indexdb"
	"github.com/loci-memory/loci/internal/store/storetest"
)

// Fields of a memory that callers do not choose. The store sets them, or another field decides about them.
var (
	fieldsOfStore = []string{"ID", "WorkspaceID", "AtlasID", "Version", "CreatedBy", "CreatedAt", "UpdatedAt",
		"VerifiedAt", "VerifiedBy", "Expired", "Supersedes", "ArchivedAt", "AttachmentIDs", "Unchanged"}
	fieldsOnlyUpdated = []string{"Status", "Evidence", "Confidence", "ValidUntil", "SupersededBy"}
	fieldsOnlyCreated = []string{"Source", "AgentID", "SessionID"}
	fieldsOfStatus    = []string{"Status", "SupersededBy"}
)

// fillMemory sets the fields of a memory that are not among except.
func fillMemory(m *loci.Memory, except ...string) {
	forEachField(m, func(name string, v reflect.Value) {
		if !slices.Contains(except, name) {
			storetest.Fill(v)
		}
	})
	if m.Type == storetest.FilledText {
		m.Type = loci.TypeDecision // neither the first nor the default one
	}
	if m.Status == storetest.FilledText {
		m.Status = loci.MemoryArchived
	}
}

// forEachField calls f with each field of the struct at p.
func forEachField(p any, f func(name string, v reflect.Value)) {
	v := reflect.ValueOf(p).Elem()
	for i := range v.NumField() {
		f(v.Type().Field(i).Name, v.Field(i))
	}
}

// diffFields reports the fields in which two structs of one type differ.
func diffFields(t *testing.T, when string, got, want any) {
	t.Helper()
	other := reflect.ValueOf(want).Elem()
	forEachField(got, func(name string, v reflect.Value) {
		w := other.FieldByName(name)
		if !reflect.DeepEqual(v.Interface(), w.Interface()) {
			t.Errorf("%s: %s is %v, want %v", when, name, reflect.Indirect(v), reflect.Indirect(w))
		}
	})
}

func TestWritesStoreEachFieldOfAMemory(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		ann := user(t, s, "ann")
		var want loci.Memory
		fillMemory(&want, slices.Concat(fieldsOfStore, fieldsOnlyUpdated)...)
		made := add(t, s, ann, "", "", func(m *loci.Memory) { *m = want })
		got, _ := lookUp(t, s, ann, made.ID)
		diffFields(t, "created, as read", &got, &made)
		want = got
		fillMemory(&want, slices.Concat(fieldsOfStore, fieldsOnlyUpdated)...)
		diffFields(t, "created", &got, &want)

		given := func(m *loci.Memory) { m.Tags, m.Title, m.TitleDerived = []string{}, "given", false }
		active := add(t, s, ann, "", "reviewed in its status", given)
		reviewed := review(t, s, ann, active.ID, func(m *loci.Memory) {
			fillMemory(m, slices.Concat(fieldsOfStore, fieldsOnlyCreated, fieldsOfStatus)...)
		})
		got, _ = lookUp(t, s, ann, active.ID)
		diffFields(t, "reviewed, as read", &got, &reviewed)
		want = got
		fillMemory(&want, slices.Concat(fieldsOfStore, fieldsOnlyCreated, fieldsOfStatus)...)
		diffFields(t, "reviewed", &got, &want)

		plain := add(t, s, ann, "", "without more", given)
		updated := review(t, s, ann, plain.ID, func(m *loci.Memory) {
			fillMemory(m, slices.Concat(fieldsOfStore, fieldsOnlyCreated)...)
		})
		got, _ = lookUp(t, s, ann, plain.ID)
		diffFields(t, "updated, as read", &got, &updated)
		want = got
		fillMemory(&want, slices.Concat(fieldsOfStore, fieldsOnlyCreated)...)
		diffFields(t, "updated", &got, &want)

		present := versionsOf(t, s, ann, plain.ID)[1]
		forEachField(&present, func(name string, v reflect.Value) {
			if v.IsZero() {
				t.Errorf("the present version lacks %s", name)
			}
		})
		set(t, s, ann, plain.ID, func(m *loci.Memory) { m.Status, m.SupersededBy = loci.MemoryActive, "" })
		diffFields(t, "a former version", &versionsOf(t, s, ann, plain.ID)[1], &present)
	})
}

func TestLogStoresEachAttributeOfADocument(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t, store.Options{})
		m := add(t, s, user(t, s, "ann"), "", "a text")
		var rowID, workspace, atlas int64
		store.QueryRow(t, s, `SELECT row_id, workspace, atlas FROM memories WHERE id = ?1`, m.ID, &rowID, &workspace,
			&atlas)
		fillMemory(&m)
		want := indexdb.DocAttributes(rowID, atlas, m)
		forEachField(&want, func(name string, v reflect.Value) {
			if v.IsZero() {
				t.Errorf("indexdb.DocAttributes leaves %s out", name)
			}
		})
		var log []index.DocUpdate
		err := s.DB().WriteTx(ctx, "", func(x *sqldb.Tx) error {
			err := s.Index().AppendLog(x, workspace, indexdb.LogUpdate{DocAttributes: want,
				Document: index.AnalyzeEncoded("", "another text")})
			if err != nil {
				return err
			}
			var last []int64
			if err = x.Query(`SELECT max(seq) FROM index_log`, nil, sqldb.ScanInts(&last)); err != nil {
				return err
			}
			log, err = indexdb.ReadLog(x, workspace, last)
			return err
		})
		if err != nil || len(log) != 1 {
			t.Fatal(log, err)
		}
		diffFields(t, "in the log", &log[0].DocAttributes, &want)
	})
}

// Fields that change while the version stays are part of the entity tag.
func TestEntityTagCoversFieldsOutsideOfVersions(t *testing.T) {
	t.Parallel()
	forEachField(&loci.Memory{}, func(name string, _ reflect.Value) {
		if !slices.Contains([]string{"Expired", "SupersededBy", "Supersedes", "AttachmentIDs"}, name) {
			return
		}
		var m loci.Memory
		storetest.Fill(reflect.ValueOf(&m).Elem().FieldByName(name))
		if m.EntityTag() == (loci.Memory{}).EntityTag() {
			t.Errorf("%s changes without a new version, and the entity tag leaves it out", name)
		}
	})
}
