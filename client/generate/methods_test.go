package main

import (
	"bytes"
	"context"
	"flag"
	"iter"
	"os"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/testenv"
)

var update = flag.Bool("update", false, "write the golden file")

type fakeService struct{}

func (fakeService) Create(context.Context, *identity.Actor, loci.CreateMemory) (out loci.CreatedMemory, err error) {
	return out, nil
}

func (fakeService) Read(context.Context, *identity.Actor, loci.Empty) (out loci.OneUser, err error) {
	return out, nil
}

func (fakeService) List(context.Context, *identity.Actor, loci.ListKeys) (out loci.Keys, err error) {
	return out, nil
}

func (fakeService) Follow(context.Context, *identity.Actor, loci.Empty) (iter.Seq2[loci.Memory, error], error) {
	return nil, nil
}

func (fakeService) Odd(context.Context, *identity.Actor, struct{}) (out loci.OneUser, err error) {
	return out, nil
}

func TestMethodsMatchGolden(t *testing.T) {
	t.Parallel()
	table := &op.Table{}
	op.Add(table, "memory.create", "POST /v1/memories", "Write a memory.", op.Account, op.ToolCore, fakeService.Create,
		op.MayCreate)
	op.Add(table, "old_account.me", "GET /v1/me", "See yourself.", op.Account, op.NoTool, fakeService.Read)
	op.Add(table, "auth.setup", "POST /v1/auth/setup", "Sign in.", op.Public, op.BrowserOnly, fakeService.Create,
		op.MayCreate)
	op.Add(table, "key.list", "GET /v1/api-keys", "List keys.", op.Person, op.NoTool, fakeService.List)
	op.Add(table, "agent.read", "GET /v1/agent", "Read as an agent.", op.Agent, op.NoTool, fakeService.Read)
	op.AddStream(table, "agent.events", "GET /v1/events", "Follow.", op.Account, op.NoTool, fakeService.Follow)
	got := testenv.Must(methods(table))(t)
	const golden = "testdata/toy.golden"
	if *update {
		testenv.NoError(t, os.WriteFile(golden, got, 0o644))
	}
	if want, err := os.ReadFile(golden); err != nil || !bytes.Equal(got, want) {
		t.Errorf("differs from %s (%v):\n%s", golden, err, got)
	}
}

func TestMethodsRejectUnexportedTypes(t *testing.T) {
	t.Parallel()
	table := &op.Table{}
	op.Add(table, "memory.create", "POST /v1/memories", "Write a memory.", op.Account, op.ToolCore, fakeService.Odd)
	if _, err := methods(table); err == nil || !strings.Contains(err.Error(), "memory.create") {
		t.Errorf("%v", err)
	}
}

func TestClientIsUpToDate(t *testing.T) {
	t.Parallel()
	want := testenv.Must(methods(service.Ops))(t)
	if got, err := os.ReadFile("../ops.go"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("client/ops.go is not of this table (%v): go generate ./client", err)
	}
}
