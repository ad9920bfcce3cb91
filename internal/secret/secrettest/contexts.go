package secrettest

import (
	"encoding/json"
	"net/url"
	"strings"
)

// A Context is a kind of text in which people write a name and its credential.
type Context struct {
	Name   string
	text   string // {n} is the name, {N} the name in capitals, {v} the value
	escape func(string) string
}

// Contexts are files, commands, messages and prose.
var Contexts = []Context{
	{"shell", "#!/bin/sh\nexport {N}={v}\nrun --all\n", nil},
	{".env, quoted", "DEBUG=1\n{N}=\"{v}\"\nPORT=8080\n", nil},
	{"JSON", "{\"host\": \"db\", \"{n}\": \"{v}\", \"port\": 5432}", escapeJSON},
	{"JSON in JSON", `{"body": "{\"{n}\":\"{v}\",\"a\":1}"}`, func(s string) string {
		return escapeJSON(escapeJSON(s))
	}},
	{"YAML", "db:\n  host: x\n  {n}: {v}\n  port: 5432\n", nil},
	{"YAML, quoted", "- {n}: '{v}'\n", nil},
	{"TOML", "[service]\n{n} = \"{v}\"\n", nil},
	{"INI", "[service]\n{n}={v}\n; end\n", nil},
	{"Go", "\tcfg.{n} = \"{v}\"\n\treturn cfg\n", escapeJSON},
	{"JavaScript", "const c = { host: 'x', {n}: '{v}' };", nil},
	{"Python", "connect(host=\"x\", {n}=\"{v}\", port=1)\n", nil},
	{"Python, environment", "os.environ[\"{N}\"] = \"{v}\"\n", nil},
	{"PHP", "define( '{N}', '{v}' );\n", nil},
	{"Dockerfile", "FROM x\nENV {N}={v}\nRUN y\n", nil},
	{"URL", "GET https://api.example.com/v1/items?{n}={v}&page=2", url.QueryEscape},
	{"curl, header", "curl -H 'X-{n}: {v}' https://api.example.com/\n", nil},
	{"curl, body", "curl -d '{\"{n}\":\"{v}\"}' https://api.example.com/\n", escapeJSON},
	{"option", "tool --user joe --{n} {v} --verbose\n", nil},
	{"option with =", "tool --{n}={v} run\n", nil},
	{"Markdown, code", "Set `{N}={v}` and go on.", nil},
	{"Markdown, prose", "For staging the {n} is `{v}`, ask Joe.", nil},
	{"Markdown, list", "- host: x\n- **{n}**: {v}\n", nil},
	{"log line", "2026-11-21T17:47:39Z INFO connect user=joe {n}={v} took=12ms\n", nil},
	{"connection string", "Server=x;User Id=joe;{n}={v};Encrypt=true", nil},
	{"XML", "<server>\n<id>x</id><{n}>{v}</{n}>\n</server>", nil},
	{"diff", "-{n}: x\n+{n}: {v}\n", nil},
	{"SQL", "ALTER ROLE joe WITH {n} '{v}';\n", nil},
	{".netrc", "machine x.example.com login joe password {v}\n", nil},
}

func escapeJSON(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(text[1 : len(text)-1])
}

// constantCase returns a name in the case of constants: DB_PASSWORD for dbPassword.
func constantCase(name string) string {
	var b strings.Builder
	for i, c := range []byte(name) {
		switch {
		case c == '-' || c == '.':
			c = '_'
		case i > 0 && 'A' <= c && c <= 'Z' && 'a' <= name[i-1] && name[i-1] <= 'z':
			b.WriteByte('_')
		}
		b.WriteByte(c)
	}
	return strings.ToUpper(b.String())
}

// Render returns a context's text with a name and a value, and the place of the value in it.
func (p Context) Render(name, value string) (text string, from, to int) {
	if p.escape != nil {
		value = p.escape(value)
	}
	before, behind, _ := strings.Cut(p.text, "{v}")
	names := strings.NewReplacer("{n}", name, "{N}", constantCase(name))
	before = names.Replace(before)
	return before + value + names.Replace(behind), len(before), len(before) + len(value)
}
