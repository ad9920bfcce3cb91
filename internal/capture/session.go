package capture

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"strings"

	"github.com/loci-memory/loci"
)

// A session is the session of an agent that a payload names.
type session struct {
	adapter loci.Adapter
	name    string // of the agent
	id, cwd string
}

// A moment is the place of an event in its session.
type moment struct {
	kind     loci.EventType
	unit     string // the agent's id of the turn
	position string // the agent's id of this event within its kind; "" hashes the text
	at       loci.Time
}

// roles are the authors of texts.
var roles = map[loci.EventType]loci.EventRole{loci.EventPrompt: loci.RoleOfUser,
	loci.EventResponse: loci.RoleOfAssistant}

// event returns the event of a moment, or none for a prompt or an answer without words.
func (s session) event(m moment, text string) []Event {
	r := newRedactor()
	content := r.content(text)
	if s.id == "" || roles[m.kind] != "" && content == "" {
		return nil
	}
	e := Event{Adapter: s.adapter, ExternalID: r.id(s.id), SourceName: s.name}
	e.Input = loci.SendEvent{Adapter: s.adapter, Type: m.kind, UnitKey: loci.ExternalID(r.id(m.unit)), OccurredAt: m.at,
		Role: roles[m.kind], Content: loci.EventContent(content)}
	if m.position == "" {
		m.position = hash(e.ExternalID, string(m.kind), content)
	}
	e.Input.EventID = loci.ExternalID(string(m.kind) + ":" + r.id(m.position))
	cwd := r.line(s.cwd, maxPath)
	if cwd != "" {
		e.Input.Metadata = loci.Metadata{"cwd": cwd}
	}
	e.Task = s.task(m.kind, cwd, content)
	e.Audit = r.Counts()
	return []Event{e}
}

// The limits of texts that are not content.
const (
	maxPath = 4 << 10
	maxTask = 200
)

// task names a session: by the prompt, or by the agent and its folder.
func (s session) task(kind loci.EventType, cwd, content string) string {
	if kind == loci.EventPrompt {
		line, _, _ := strings.Cut(content, "\n")
		return clip(strings.TrimSpace(line), maxTask)
	}
	if folder := path.Base(strings.ReplaceAll(cwd, `\`, "/")); cwd != "" && folder != "/" {
		return clip(s.name+" in "+folder, maxTask)
	}
	return s.name
}

// hash returns a short name of texts.
func hash(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		sum := sha256.Sum256([]byte(t))
		h.Write(sum[:])
	}
	return "sha256-" + hex.EncodeToString(h.Sum(nil)[:16])
}

// decode reads a payload, which must be one JSON object.
func decode(payload []byte, into any) error {
	if b := bytes.TrimLeft(payload, " \t\r\n\ufeff"); len(b) == 0 || b[0] != '{' {
		return ErrPayload
	}
	if json.Unmarshal(bytes.TrimPrefix(payload, []byte("\ufeff")), into) != nil {
		return ErrPayload // the decoder's error may quote the payload
	}
	return nil
}
