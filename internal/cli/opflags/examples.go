package opflags

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/loci-memory/loci/internal/cli/format"
)

// handwrittenExamples are the examples that need more than one value for each required field.
var handwrittenExamples = map[string][]string{
	"memory.create": {
		`loci memory create "The cat is called Ada." --type fact --tags home,cat`,
		"loci memory create --title Minutes --content - < minutes.md",
	},
	"memory.search": {
		`loci memory search "who feeds the cat"`,
		`loci memory search "\"front door\"" --type fact,decision --limit 5 --json`,
	},
	"memory.list": {
		"loci memory list",
		"loci memory list --tags home --include archived --limit 100",
	},
	"memory.context": {
		"loci memory context",
		`loci memory context --query "release of the harbour service" --max-tokens 2000`,
	},
	"memory.verify": {
		`loci memory verify 3f9c2a7b --evidence "asked the vet" --confidence 0.9 --valid-until 2031-01-01T00:00:00Z`},
	"memory.delete": {
		"loci memory delete 3f9c2a7b",
		"loci memory delete 3f9c2a7b 8d1e60b4 --yes",
	},
	"memory.update": {
		`loci memory update 3f9c2a7b --title "Opening hours" --tags harbour`,
		"loci memory update 3f9c2a7b --content - < notes.md",
	},
	"agent.list": {"loci agent list", "loci agent list --workspace-id Crew"},
	"auto.set": {
		"loci auto set --enabled",
		"loci auto set --workspace-id Crew --mode candidates --exclude-paths '**/private/**'",
	},
	"session.moderate": {
		"loci session moderate 3f9c2a7b --action compile",
		"loci session moderate 3f9c2a7b --action compile --supersede 8d1e60b4",
	},
	"memory.supersede": {"loci memory supersede 3f9c2a7b --replacement-memory-id 8d1e60b4"},
	"session.bulk": {
		"loci session bulk --action archive --session-ids 8d1e60b4,3f9c2a7b",
		"loci session bulk --action delete --session-ids 8d1e60b4 --yes",
	},
	"invitation.create": {
		"loci invitation create Crew --emails ada@example.org,bo@example.org",
		"loci invitation create Crew --emails ada@example.org --role admin",
	},
	"invitation.respond": {
		"loci invitation respond 3f9c2a7b --accept",
		"loci invitation respond 3f9c2a7b --accept=false --yes",
	},
	"account.password": {
		"loci account password",
		"loci account password --current-password - --new-password - < two-lines.txt",
	},
	"account.delete": {
		"loci account delete",
		"loci account delete --password - --yes < password.txt",
	},
	"agent.send": {
		`loci agent send --to-agent-id builder --workspace-id Crew --content "Is it free?"`,
		"loci agent send --broadcast --workspace-id Crew --content - < report.md",
		`loci agent send --to-agent-id builder --reply-to 3f9c2a7b --content "It is."`,
	},
}

// examples returns the examples of the help page: the handwritten ones, or one with every required value.
func (f *Set) examples() string {
	if lines := handwrittenExamples[f.op.Name]; lines != nil {
		return strings.Join(lines, "\n")
	}
	line := "loci " + format.Kebab(strings.Replace(f.op.Name, ".", " ", 1))
	for _, s := range f.argsOf(0) {
		line += " " + s.example()
	}
	shown := false
	for _, s := range f.flags {
		if s.flag == Confirm {
			continue
		}
		if s.Required || f.op.Method == "PATCH" && !shown {
			line += " --" + s.flag
			if s.Field.Type != "boolean" {
				line += " " + s.example()
			}
			shown = true
		}
	}
	return line
}

// Examples of values. People name workspaces, atlases and agents by name, members by address, and everything else by a
// part of its id.
var (
	exampleNames = map[string]string{"workspace": "Crew", "atlas": "Website", "agent": "builder",
		"user": "bo@example.org", "session": "8d1e60b4"}
	exampleTexts = map[string]string{
		"content": "The harbour opens at six.", "query": "when does the harbour open", "task": "Release the shop",
		"summary": "The tests pass; the notes are missing.", "name": "Harbour", "key": "release-notes",
		"unit-key": "release-notes", "compiler": "bridge", "event-id": "turn-7", "reason": "outdated",
		"token": "-", "title": "Opening hours",
	}
)

// exampleID is a part of an id, as a table shows it.
const exampleID = "3f9c2a7b"

// example returns a valid value of the flag.
func (s *spec) example() string {
	switch {
	case s.Enum != nil:
		return s.Enum[0]
	case s.List && s.Resource != "":
		return exampleID + ",8d1e60b4"
	case s.Resource != "":
		return cmp.Or(exampleNames[s.Resource], exampleID)
	case s.Format == "email":
		return "ada@example.org"
	case s.Field.Type == "integer":
		return "5"
	case s.Field.Type == "object":
		return "'{}'"
	case s.List:
		return "one,two"
	}
	text := exampleTexts[s.flag]
	if strings.Contains(text, " ") {
		return fmt.Sprintf("%q", text)
	}
	return text
}
