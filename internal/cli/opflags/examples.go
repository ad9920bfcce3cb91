package opflags

import (
	"fmt"
	"strings"

	"github.com/loci-memory/loci/internal/cli/format"
)

// handwrittenExamples are the examples that need more than one value for each required field.
var handwrittenExamples = map[string][]string{
	"memory.create": {
		`loci memory create --content "The cat is called Ada." --type fact --tags home,cat`,
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
		`loci memory verify 01890000-0000-7000-8000-000000000000 --evidence "asked the vet" ` +
			"--confidence 0.9 --valid-until 2031-01-01T00:00:00Z"},
	"account.password": {
		"loci account password",
		"loci account password --current-password - --new-password - < two-lines.txt",
	},
	"account.delete": {
		"loci account delete",
		"loci account delete --password - --yes < password.txt",
	},
	"agent.send": {
		`loci agent send --to-agent-id agt_01890000000070008000000000000000 --workspace-id 01890000 --content "Is it free?"`,
		"loci agent send --broadcast --workspace-id 01890000-0000-7000-8000-000000000000 --content - < report.md",
		`loci agent send --to-agent-id agt_01890000 --reply-to 01890000-0000-7000-8000-000000000000 --content "It is."`,
	},
}

// examples returns the examples of the help page: the handwritten ones, or one with every required value.
func (f *Set) examples() string {
	if lines := handwrittenExamples[f.op.Name]; lines != nil {
		return strings.Join(lines, "\n")
	}
	line := "loci " + format.Kebab(strings.Replace(f.op.Name, ".", " ", 1))
	for _, s := range f.args {
		line += " " + s.example()
	}
	shown := false
	for _, s := range f.flags {
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

// example returns a valid value of the flag.
func (s *spec) example() string {
	switch {
	case s.Enum != nil:
		return s.Enum[0]
	case s.Resource != "":
		return "01890000-0000-7000-8000-000000000000"
	case s.Format == "email":
		return "ada@example.org"
	case s.Field.Type == "integer":
		return "5"
	case s.Field.Type == "object":
		return "'{}'"
	case s.List:
		return "one,two"
	}
	return fmt.Sprintf("%q", "Some "+strings.ReplaceAll(s.flag, "-", " "))
}
