package conformance

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/op"
)

// A Caller is a role from which operations on the team workspace are called.
type Caller string

// All callers, from one without a credential to the owner of the team workspace.
const (
	CallerNobody    Caller = "nobody"    // has no credential
	CallerRevoked   Caller = "revoked"   // has a key that ann has revoked
	CallerStranger  Caller = "stranger"  // has an account, but no access to the team workspace
	CallerElsewhere Caller = "elsewhere" // ann's token, narrowed to another workspace
	CallerMember    Caller = "member"
	CallerAdmin     Caller = "admin"
	CallerOwner     Caller = "owner"
	CallerAgent     Caller = "agent"      // ann's key, with an agent named as the actor
	CallerToken     Caller = "token"      // ann's, narrowed to the team workspace
	CallerAccount   Caller = "account"    // ann's token, for the whole account
	CallerFile      Caller = "file token" // of ann's key, over REST
	CallerDevice    Caller = "device"     // the owner of a database on the own device, without sign-in
)

// Callers lists all callers.
var Callers = []Caller{CallerNobody, CallerRevoked, CallerStranger, CallerElsewhere, CallerMember, CallerAdmin,
	CallerOwner, CallerAgent, CallerToken, CallerAccount, CallerFile, CallerDevice}

// localDevice is a credential that the world itself maps to a caller.
const localDevice = "test-own-device"

// Credential returns the credential of a caller.
func (w *World) Credential(c Caller) string {
	if c == CallerFile {
		return w.FileToken(w.Ann)
	}
	return map[Caller]string{CallerRevoked: w.revoked, CallerStranger: w.Eve.Key, CallerMember: w.Cid.Key,
		CallerAdmin: w.Bob.Key, CallerOwner: w.Ann.Key, CallerAgent: w.Ann.Key, CallerElsewhere: w.elsewhere,
		CallerToken: w.token, CallerAccount: w.account, CallerDevice: localDevice}[c]
}

// FileToken returns a token for files of a person.
func (w *World) FileToken(p *Person) string {
	t, err := w.Service.ExchangeFileToken(context.Background(), p.Actor(), loci.Empty{})
	if err != nil {
		panic(err)
	}
	return t.Token
}

// Call returns a call by the caller.
func (w *World) Call(c Caller) *op.Call {
	call := &op.Call{Transport: "test", Address: "192.0.2.1", RequestID: "test"}
	if w.Ann != nil {
		call.Credential = w.Credential(c)
	}
	switch c {
	case CallerAgent:
		call.ActorHeader = "agent"
	case CallerFile:
		call.Transport = op.TransportREST
	}
	return call
}
