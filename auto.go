package loci

// A PolicyMode is what becomes of an extracted statement.
type PolicyMode string

// The modes: a candidate that waits for a review, or at once the memory of its unit.
const (
	ModeCandidates PolicyMode = "candidates"
	ModeUnits      PolicyMode = "units"
)

// Rule lists the modes.
func (PolicyMode) Rule() Rule {
	return Rule{Enum: enumValues(ModeCandidates, ModeUnits), Default: string(ModeCandidates)}
}

// A MinimumLength is the fewest characters of prompt and answer from which statements are extracted.
type MinimumLength int

// Rule allows up to 100,000 characters.
func (MinimumLength) Rule() Rule { return Rule{Min: 0, Max: 100_000, Default: 0} }

// A PathPattern is a glob of excluded paths: ** matches any folders.
type PathPattern string

// Rule requires 1 to 300 characters.
func (PathPattern) Rule() Rule { return Rule{MinLength: 1, MaxLength: 300, NoSecret: true} }

// PathPatterns are the excluded paths of a policy.
type PathPatterns []PathPattern

// Rule allows at most 64 patterns.
func (PathPatterns) Rule() Rule { return Rule{MaxItems: 64} }

// AdapterSwitches turn adapters on and off. In an input, an absent one is on.
type AdapterSwitches struct {
	ACP       *bool `json:"acp,omitzero"`
	WorkBuddy *bool `json:"workbuddy,omitzero"`
	OpenCode  *bool `json:"opencode,omitzero"`
	Pi        *bool `json:"pi,omitzero"`
	Codex     *bool `json:"codex,omitzero"`
	Claude    *bool `json:"claude,omitzero"`
}

// NewAdapterSwitches returns the switches of every adapter; those in off are off.
func NewAdapterSwitches(off []Adapter) AdapterSwitches {
	var s AdapterSwitches
	for _, a := range Adapters {
		on := true
		for _, x := range off {
			on = on && x != a
		}
		*s.of(a) = &on
	}
	return s
}

// Off lists the adapters that are off.
func (s AdapterSwitches) Off() []Adapter {
	off := []Adapter{}
	for _, a := range Adapters {
		if on := *s.of(a); on != nil && !*on {
			off = append(off, a)
		}
	}
	return off
}

func (s *AdapterSwitches) of(a Adapter) **bool {
	return map[Adapter]**bool{"acp": &s.ACP, "workbuddy": &s.WorkBuddy, "opencode": &s.OpenCode, "pi": &s.Pi,
		"codex": &s.Codex, "claude": &s.Claude}[a]
}

// On reports whether an adapter is on.
func (s AdapterSwitches) On(a Adapter) bool {
	on := s.of(a)
	return on != nil && (*on == nil || **on)
}

// A Policy is the automatic memory of a user in a workspace.
type Policy struct {
	Enabled      bool            `json:"enabled"`
	Paused       bool            `json:"paused"`
	Mode         PolicyMode      `json:"mode"`
	AtlasID      ID              `json:"atlasId,omitzero" jsonschema:"The atlas of its sessions; else as for a memory"`
	Adapters     AdapterSwitches `json:"adapters"`
	MinLength    int             `json:"minLength" jsonschema:"Characters of prompt and answer together"`
	KeepTurns    bool            `json:"keepTurns" jsonschema:"Candidates show the turns that they come from, for 30 days"`
	ExcludePaths []string        `json:"excludePaths" jsonschema:"Globs of paths whose events are ignored"`
	CreatedAt    Time            `json:"createdAt,omitzero" jsonschema:"Absent until it was written"`
	UpdatedAt    Time            `json:"updatedAt,omitzero"`
}

// DefaultPolicy returns the policy of a user who has written none.
func DefaultPolicy() Policy {
	return Policy{Mode: ModeCandidates, Adapters: NewAdapterSwitches(nil), ExcludePaths: []string{}}
}

// Accepts reports whether the policy lets events of an adapter in.
func (p Policy) Accepts(a Adapter) bool { return p.Enabled && !p.Paused && p.Adapters.On(a) }

// GetPolicy is the input of auto.get.
type GetPolicy struct {
	WorkspaceID ID `json:"workspace_id,omitzero" id:"workspace" jsonschema:"Default: personal"`
}

// SetPolicy is the input of auto.set: it replaces the policy.
type SetPolicy struct {
	WorkspaceID  ID              `json:"workspace_id,omitzero" id:"workspace" jsonschema:"Default: personal"`
	Enabled      bool            `json:"enabled,omitzero" jsonschema:"Default: false"`
	Paused       bool            `json:"paused,omitzero" jsonschema:"Default: false"`
	Mode         PolicyMode      `json:"mode,omitzero" jsonschema:"units: store without a review"`
	AtlasID      ID              `json:"atlasId,omitzero" id:"atlas" jsonschema:"The atlas of new sessions"`
	Adapters     AdapterSwitches `json:"adapters,omitzero" jsonschema:"Default: all are on"`
	MinLength    MinimumLength   `json:"minLength,omitzero" jsonschema:"Fewest characters of prompt and answer"`
	KeepTurns    bool            `json:"keepTurns,omitzero" jsonschema:"Show candidates with the turns that they come from"`
	ExcludePaths PathPatterns    `json:"excludePaths,omitzero" jsonschema:"Globs of paths whose events are ignored"`
}

// OnePolicy is an output that holds a policy.
type OnePolicy struct {
	Policy Policy `json:"policy"`
}

// ETag identifies this representation of the policy.
func (o OnePolicy) ETag() string { return entityTag(o.Policy.AtlasID, o.Policy.UpdatedAt.String()) }

// A RuleName names a rule of the scanner for credentials.
type RuleName string

// Rule requires 1 to 64 lower-case letters, digits and dashes.
func (RuleName) Rule() Rule {
	return Rule{MinLength: 1, MaxLength: 64, Pattern: `^[a-z0-9-]*$`, Characters: "lower-case letters, digits and dashes",
		NoSecret: true}
}

// A Count is a number of matches.
type Count int

// Rule allows 0 to a million.
func (Count) Rule() Rule { return Rule{Min: 0, Max: 1_000_000} }

// A RedactionCount is the number of credentials that a rule found.
type RedactionCount struct {
	Rule  RuleName `json:"rule" jsonschema:"Lower-case letters, digits and dashes"`
	Count Count    `json:"count"`
}

// RedactionCounts are the counts of an audit.
type RedactionCounts []RedactionCount

// Rule allows at most 100 rules.
func (RedactionCounts) Rule() Rule { return Rule{MaxItems: 100} }

// An Audit records what a client has redacted, without any content.
type Audit struct {
	ID         ID               `json:"id" jsonschema:"UUIDv7"`
	SessionID  ID               `json:"sessionId"`
	EventID    string           `json:"eventId"`
	Adapter    Adapter          `json:"adapter"`
	Rules      []RedactionCount `json:"rules" show:"columns=rule count"`
	Total      int              `json:"total"`
	OccurredAt Time             `json:"occurredAt"`
	CreatedAt  Time             `json:"createdAt"`
	UpdatedAt  Time             `json:"updatedAt"`
}

// RecordAudit is the input of auto.audit.
type RecordAudit struct {
	SessionID  ID              `json:"sessionId" id:"session"`
	EventID    ExternalID      `json:"eventId" jsonschema:"The event that was redacted"`
	Adapter    Adapter         `json:"adapter" jsonschema:"That of the session"`
	Rules      RedactionCounts `json:"rules" jsonschema:"Matches of each rule"`
	Total      Count           `json:"total" jsonschema:"The sum of their counts"`
	OccurredAt Time            `json:"occurredAt,omitzero" jsonschema:"Default: now"`
}

// RecordedAudit is the output of auto.audit.
type RecordedAudit struct {
	Audit Audit `json:"audit"`
	Creation
}
