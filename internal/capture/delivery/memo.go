package delivery

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/capture"
	"github.com/loci-memory/loci/internal/service"
)

// policyAge is how long a policy is used before it is read again.
const policyAge = time.Minute

const (
	policyFile   = "policy.json"
	sessionsFile = "sessions.json"
)

// A knownPolicy is the policy as it was read last.
type knownPolicy struct {
	At     time.Time   `json:"at"` // zero if none was read
	Policy loci.Policy `json:"policy"`
}

func (c *Courier) loadPolicy() (p knownPolicy) {
	if !c.load(policyFile, &p) {
		return knownPolicy{}
	}
	return p
}

func (c *Courier) forgetPolicy() { _ = os.Remove(filepath.Join(c.dir, policyFile)) }

// policy returns the policy. It reads one again that is a minute old, or that another process found off: perhaps it was
// turned on.
func (c *Courier) policy(ctx context.Context) (loci.Policy, error) {
	known := c.loadPolicy()
	isOn := known.Policy.Enabled && !known.Policy.Paused
	if age := c.now().Sub(known.At); (isOn || c.hasRead) && age >= 0 && age < policyAge {
		return known.Policy, nil
	}
	got, err := call(ctx, c, service.AutoGet, loci.GetPolicy{WorkspaceID: c.Workspace})
	if err != nil {
		return loci.Policy{}, err
	}
	c.hasRead = true
	c.save(policyFile, knownPolicy{c.now().UTC(), got.Policy})
	return got.Policy, nil
}

// maxSessions bounds the sessions whose ids are kept: the newest.
const maxSessions = 200

// A knownSession is a session of an agent and its id.
type knownSession struct {
	Adapter    loci.Adapter `json:"adapter"`
	ExternalID string       `json:"externalId"`
	ID         loci.ID      `json:"id"`
}

func (k knownSession) is(e capture.Event) bool {
	return k.Adapter == e.Adapter && k.ExternalID == e.ExternalID
}

func (c *Courier) sessions() (all []knownSession) {
	c.load(sessionsFile, &all)
	return all
}

func (c *Courier) sessionID(e capture.Event) (id loci.ID, known bool) {
	for _, k := range c.sessions() {
		if k.is(e) {
			return k.ID, true
		}
	}
	return "", false
}

func (c *Courier) forgetSession(e capture.Event) {
	c.save(sessionsFile, slices.DeleteFunc(c.sessions(), func(k knownSession) bool { return k.is(e) }))
}

func (c *Courier) keepSession(e capture.Event, id loci.ID) {
	all := slices.DeleteFunc(c.sessions(), func(k knownSession) bool { return k.is(e) })
	all = append(all, knownSession{e.Adapter, e.ExternalID, id})
	c.save(sessionsFile, all[max(0, len(all)-maxSessions):])
}

// load reads a file, and reports whether it is whole.
func (c *Courier) load(name string, into any) bool {
	b, err := os.ReadFile(filepath.Join(c.dir, name))
	return err == nil && json.Unmarshal(b, into) == nil
}

// save replaces a file in one step. Its loss costs a call, so an error is ignored. Two processes that save at once lose
// one entry, which costs a call too.
func (c *Courier) save(name string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		return
	}
	next, err := os.CreateTemp(c.dir, "."+name+"-*") // mode 0600
	if err != nil {
		return
	}
	_, err = next.Write(b)
	if next.Close() != nil || err != nil || os.Rename(next.Name(), filepath.Join(c.dir, name)) != nil {
		_ = os.Remove(next.Name())
	}
}
