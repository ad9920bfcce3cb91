package conformance

import "github.com/loci-memory/loci/internal/op"

// A Caller is one of those who call an operation on the crew.
type Caller string

// Everybody, from those without a credential to those who own the crew.
const (
	CallerNobody    Caller = "nobody"    // shows no credential
	CallerRevoked   Caller = "revoked"   // shows a key that ann has revoked
	CallerStranger  Caller = "stranger"  // has an account, and nothing to do with the crew
	CallerElsewhere Caller = "elsewhere" // ann's token, narrowed to another workspace
	CallerMember    Caller = "member"
	CallerAdmin     Caller = "admin"
	CallerOwner     Caller = "owner"
	CallerAgent     Caller = "agent"  // ann's key, with an agent named as the actor
	CallerToken     Caller = "token"  // ann's, narrowed to the crew
	CallerDevice    Caller = "device" // the owner of a database on the own device, where nobody signs in
)

// Callers lists them all.
var Callers = []Caller{CallerNobody, CallerRevoked, CallerStranger, CallerElsewhere, CallerMember, CallerAdmin,
	CallerOwner, CallerAgent, CallerToken, CallerDevice}

// Proofs that no gate knows: the world itself says who shows them.
const (
	narrowedToken       = "proof-narrowed-token"
	otherWorkspaceToken = "proof-token-elsewhere"
	localDevice         = "proof-own-device"
)

// Credential returns what the caller shows as credential.
func (w *World) Credential(c Caller) string {
	switch c {
	case CallerRevoked:
		return w.revoked
	case CallerStranger:
		return w.Eve.Key
	case CallerMember:
		return w.Cid.Key
	case CallerAdmin:
		return w.Bob.Key
	case CallerOwner, CallerAgent:
		return w.Ann.Key
	case CallerElsewhere:
		return otherWorkspaceToken
	case CallerToken:
		return narrowedToken
	case CallerDevice:
		return localDevice
	}
	return ""
}

// Call returns a call that the caller makes.
func (w *World) Call(c Caller) *op.Call {
	call := &op.Call{Transport: "proof", Address: "192.0.2.1", RequestID: "proof"}
	if w.Ann != nil {
		call.Credential = w.Credential(c)
	}
	if c == CallerAgent {
		call.ActorHeader = "agent"
	}
	return call
}
