// Package server assembles the program: settings, wiring, the HTTP server and its shutdown.
package server

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cache"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/mail"
	"github.com/loci-memory/loci/internal/oauth"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/rest"
	"github.com/loci-memory/loci/internal/server/backup"
	"github.com/loci-memory/loci/internal/server/serverlog"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/service/file"
)

// The formats of the log beside json. LogFormatAuto means text on a terminal.
const (
	LogFormatAuto = "auto"
	LogFormatText = serverlog.Text
)

// Settings are the settings of a server.
type Settings struct {
	Data           string
	DB             string // postgres://...; empty means SQLite in Data
	Listen         string
	MetricsListen  string
	PublicURL      string
	TrustedProxies []netip.Prefix
	Origins        []string
	LogLevel       string
	LogFormat      string
	Contract       string
	Deprecate      string // file of rest.ParseDeprecations
	Toolset        op.Toolset
	QueryKey       bool
	OAuthCIMD      bool // clients of OAuth may be known by a metadata document
	NoConsole      bool // there are only the pages of sign-in, links and consent
	Plans          identity.Plans
	RateLimit      int
	RateBurst      int
	SignInLimit    int
	Registration   service.Registration
	ClockOffset    time.Duration
	Heartbeat      time.Duration // of streams
	Drain          time.Duration // how long a server that shuts down still accepts connections
	DBWait         time.Duration // how long a server that starts waits for PostgreSQL
	EmbedURL       string        // of an OpenAI-compatible embedder; empty means the built-in one
	EmbedKey       string        // a secret
	EmbedModel     string
	LLMURL         string // of an OpenAI-compatible language model that extracts statements; empty means none
	LLMKey         string // a secret
	LLMModel       string
	LLMDailyTokens int64
	Mail           *mail.Server // nil: no mail is sent
	Blobs          string       // where files are kept: blobsFile, or the address of a bucket
	MaxFile        int64        // the most bytes of a file
	CacheBytes     int          // of all caches, but for less memory

	ReadableSecrets []string // warnings of files with secrets that other users can read

	environ map[string]string // the variables with which a bucket is opened

	deprecations []rest.Deprecation
	given        map[string]string // the settings that are not the default, by their flags

	inferredURL    bool                        // PublicURL is not set: it follows from the listener
	onReady        func(url string)            // called once the server listens
	after          func(time.Duration, func()) // nil: time.AfterFunc
	documentAccess oauth.DocumentAccess
}

// A Setting is one entry of the Catalogue: a flag, a variable and a key of
// loci.toml (the flag's name) set the same value.
type Setting struct {
	Flag, Env, Default, Help string

	set func(*Settings, string) error
}

// Catalogue lists every setting.
var Catalogue = append([]Setting{
	{"data", "LOCI_DATA", defaultDataDir(), "Folder of the database and the files; " +
		"default: loci/server in $XDG_DATA_HOME, or in ~/.local/share", func(s *Settings, v string) error {
		if s.Data = v; strings.TrimSpace(v) == "" {
			return errors.New("the name of the folder is blank")
		}
		return nil
	}},
	{"db", "LOCI_DB", "", "Address of a PostgreSQL database (postgres://...); default: SQLite in the data folder",
		setDB},
	{"db-wait", "LOCI_DB_WAIT", "5m", "How long a server that starts waits for PostgreSQL, up to 24h; 0 does not wait",
		durationSetting(func(s *Settings) *time.Duration { return &s.DBWait }, 0, 24*time.Hour,
			"0 to 24h, such as 5m")},
	{"listen", "LOCI_LISTEN", "127.0.0.1:7007", "Address to listen on", func(s *Settings, v string) error {
		s.Listen = v
		return checkHostPort(v)
	}},
	{"public-url", "LOCI_PUBLIC_URL", "", "Where people reach the server; default: the address", setPublicURL},
	{"trusted-proxies", "LOCI_TRUSTED_PROXIES", "", "Networks whose X-Forwarded-For is believed (10.0.0.0/8,...)",
		setProxies},
	{"cors-origins", "LOCI_CORS_ORIGINS", "", "Origins whose pages may call the API (https://app.example.org,...)",
		setOrigins},
	{"metrics-listen", "LOCI_METRICS_LISTEN", "",
		"Address that answers /metrics and /ready, and nothing else; default: none", func(s *Settings, v string) error {
			s.MetricsListen = v
			return checkHostPort(v)
		}},
	{"log-level", "LOCI_LOG_LEVEL", "info", "Least of what is logged: debug, info, warn or error",
		enumSetting(func(s *Settings, v string) { s.LogLevel = v }, "debug", "info", "warn", "error")},
	{"log-format", "LOCI_LOG_FORMAT", LogFormatAuto, "Format of the log: json, text, or auto: text on a terminal",
		enumSetting(func(s *Settings, v string) { s.LogFormat = v }, LogFormatAuto, "json", LogFormatText)},
	{"contract", "LOCI_CONTRACT", "full", "Variant of the routes: full, a or b",
		enumSetting(func(s *Settings, v string) { s.Contract = v }, service.VariantNames...)},
	{"deprecate", "LOCI_DEPRECATE", "", "File (JSON) of the routes and fields that will be removed",
		func(s *Settings, v string) error {
			s.Deprecate = v
			return nil
		}},
	{"blobs", "LOCI_BLOBS", blobsFile, "Where files of memories are kept: file (in the data folder), or a bucket of " +
		"S3 (s3://BUCKET/PREFIX?endpoint=URL&region=NAME&path=1&direct=1, keys in the variables of AWS)",
		func(s *Settings, v string) error { s.Blobs = v; return nil }},
	{"max-file", "LOCI_MAX_FILE", strconv.Itoa(file.DefaultMaxFile), "Bytes that a file may have", setMaxFile},
	{"cache-bytes", "LOCI_CACHE_BYTES", strconv.Itoa(cache.DefaultBytes), "Bytes that all caches may have " +
		"together; at most a quarter of GOMEMLIMIT, or of the limit of the control group", setCacheBytes},
	{"mcp-toolset", "LOCI_MCP_TOOLSET", "full", "Tools of an MCP client that asks for no set: full, stable or core",
		setToolset},
	{"mcp-query-key", "LOCI_MCP_QUERY_KEY", "0", "1 lets old MCP clients send ?api_key=", setQueryKey},
	{"oauth-cimd", "LOCI_OAUTH_CIMD", "off", "With on, programs that sign people in may describe themselves by a " +
		"document on the web (Client ID Metadata Document), which the server fetches",
		enumSetting(func(s *Settings, v string) { s.OAuthCIMD = v == "on" }, "on", "off")},
	{"console", "LOCI_CONSOLE", "on", "With off, pages for people are those of sign-in, links and consent alone",
		enumSetting(func(s *Settings, v string) { s.NoConsole = v == "off" }, "on", "off")},
	{"plan", "LOCI_PLAN", "selfhosted", "Plan of every user: selfhosted, free or pro", setPlan},
	{"rate-limit", "LOCI_RATE_LIMIT", "1200", "Calls a minute and credential; 0 is off",
		intSetting(func(s *Settings, n int) { s.RateLimit = n })},
	{"rate-burst", "LOCI_RATE_BURST", "200", "Calls that may come at once",
		intSetting(func(s *Settings, n int) { s.RateBurst = n })},
	{"signin-limit", "LOCI_SIGNIN_LIMIT", "20",
		"Failed sign-ins, registrations, requests for mails and wrong links of an account or address in 15 minutes; " +
			"0 is off",
		intSetting(func(s *Settings, n int) { s.SignInLimit = n })},
	{"registration", "LOCI_REGISTRATION", "invited",
		"Who may make an account: invited (with the link of an invitation or a referral), open (anybody) or closed " +
			"(nobody)",
		enumSetting(func(s *Settings, v string) { s.Registration = service.Registration(v) }, "invited", "open",
			"closed")},
	{"smtp-url", "LOCI_SMTP_URL", "", "Server that accepts the mails of Loci " +
		"(smtp://user:password@mail.example.org:587?from=loci@example.org, or smtps://...); default: no mail is sent",
		func(s *Settings, v string) (err error) {
			s.Mail, err = mail.Parse(v)
			return err
		}},
	{"embed-url", "LOCI_EMBED_URL", "", "Base address of an OpenAI-compatible embedder (https://api.openai.com/v1); " +
		"default: the built-in one", setEmbedURL},
	{"embed-key", "LOCI_EMBED_KEY", "", "Key of the embedder", setEmbedKey},
	{"embed-model", "LOCI_EMBED_MODEL", "text-embedding-3-small", "Model of the embedder at embed-url",
		modelSetting(func(s *Settings, v string) { s.EmbedModel = v })},
	{"llm-url", "LOCI_LLM_URL", "", "Base address of an OpenAI-compatible language model " +
		"(https://api.openai.com/v1), which is sent the texts of automatic sessions to extract " +
		"candidates; default: none",
		setLLMURL},
	{"llm-key", "LOCI_LLM_KEY", "", "Key of the language model", setLLMKey},
	{"llm-model", "LOCI_LLM_MODEL", "gpt-4o-mini", "Language model at llm-url",
		modelSetting(func(s *Settings, v string) { s.LLMModel = v })},
	{"llm-daily-tokens", "LOCI_LLM_DAILY_TOKENS", "200000",
		"Tokens a day (UTC) that all servers of the database may use at llm-url; 0 is refused: leave llm-url out",
		setLLMDailyTokens},
	{"sse-heartbeat", "LOCI_SSE_HEARTBEAT", "20s", "Time between two heartbeats of a stream, from 1s to 10m",
		durationSetting(func(s *Settings) *time.Duration { return &s.Heartbeat }, time.Second, 10*time.Minute,
			"1s to 10m")},
	{"drain", "LOCI_DRAIN", "", "How long a server that shuts down still accepts calls, while /ready is 503, up to " +
		"1h; default: 2s, on a terminal 0",
		durationSetting(func(s *Settings) *time.Duration { return &s.Drain }, 0, time.Hour, "0 to 1h, such as 10s")},
	{"clock-offset", "LOCI_CLOCK_OFFSET", "0s", "Duration added to the clock, for tests of expiry", setClockOffset},
}, planSettings()...)

// IsGiven reports whether a flag, its variable or loci.toml has another value than the default.
func (s Settings) IsGiven(flag string) bool { return s.given[flag] != "" }

// Secret reports whether the value of a setting is a secret. No help shows such a flag: a list of processes shows
// values.
func (s Setting) Secret() bool {
	return slices.Contains([]string{"embed-key", "llm-key", "smtp-url"}, s.Flag)
}

// hasSecret reports whether the value may contain a secret. LOCI_..._FILE names a file with such a value.
func (s Setting) hasSecret() bool { return s.Secret() || s.Flag == "db" }

// saved reports whether a server saves the setting for the commands of its operator, which may run without the
// variables of the server.
func (s Setting) saved() bool {
	return slices.Contains([]string{"public-url", "blobs", "listen", "metrics-listen"}, s.Flag) ||
		strings.HasPrefix(s.Flag, "plan")
}

// clientEnv are variables of the programs that call a server, not of the server.
var clientEnv = []string{"LOCI_URL", "LOCI_API_KEY"}

// planSettings are the settings of the plans' limits.
func planSettings() (list []Setting) {
	for _, p := range []loci.PlanName{loci.PlanFree, loci.PlanPro} {
		for _, n := range []struct {
			name, what string
			of         func(*identity.Plan) *int64
		}{
			{"OPERATIONS", "Operations a month", func(p *identity.Plan) *int64 { return &p.Operations }},
			{"STORAGE_BYTES", "Stored bytes", func(p *identity.Plan) *int64 { return &p.Storage }},
			{"TEAM_WORKSPACES", "Team workspaces", func(p *identity.Plan) *int64 { return &p.Teams }},
			{"ATLASES", "Atlases", func(p *identity.Plan) *int64 { return &p.Atlases }},
		} {
			env := "LOCI_PLAN_" + strings.ToUpper(string(p)) + "_" + n.name
			fallback := identity.DefaultPlans[p]
			list = append(list, Setting{flagOf(env), env, strconv.FormatInt(*n.of(&fallback), 10),
				n.what + " of the plan " + string(p), func(s *Settings, v string) error {
					number, err := strconv.ParseInt(v, 10, 64)
					if err != nil || number < 0 || number > loci.Unlimited {
						return fmt.Errorf("must be a whole number from 0 to %d", int64(loci.Unlimited))
					}
					plan := s.Plans.Of(p)
					*n.of(&plan) = number
					s.Plans.Limits[p] = plan
					return nil
				}})
		}
	}
	return list
}

func flagOf(env string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(env, "LOCI_"), "_", "-"))
}

// A FlagError is an invalid value of a given flag.
type FlagError struct{ error }

// Load reads the settings. A given flag precedes a variable, which precedes loci.toml in the data folder, which
// precedes the default. An empty value is an absent one. An error names the invalid value; a FlagError its flag.
func Load(flags map[string]string, environ []string) (s Settings, warnings []string, err error) {
	env := map[string]string{}
	s.environ = map[string]string{}
	for _, e := range environ {
		if name, v, ok := strings.Cut(e, "="); ok && strings.HasPrefix(name, "LOCI_") {
			env[name] = v
		} else if strings.HasPrefix(name, "AWS_") {
			s.environ[name] = v
		} else if name == "SERVICE_MCP_TOOLSET" && env["LOCI_MCP_TOOLSET"] == "" {
			env["LOCI_MCP_TOOLSET"] = v
		}
	}
	s.Plans.Limits, s.given = map[loci.PlanName]identity.Plan{}, map[string]string{}
	s.Drain = defaultDrain
	dir := cmp.Or(flags["data"], env["LOCI_DATA"], defaultDataDir())
	file, err := readConfigFile(dir)
	if err != nil {
		return s, nil, err
	}
	warnings = configFileWarnings(dir, file)
	s.ReadableSecrets = warnings
	for _, c := range Catalogue {
		v, from := c.Default, "--"+c.Flag
		if fv := file[c.Flag]; fv != "" {
			v, from = fv, c.Flag+" in loci.toml"
		}
		if ev := env[c.Env]; ev != "" {
			v, from = ev, c.Env
		}
		if path := env[c.Env+"_FILE"]; path != "" && c.hasSecret() {
			if from == c.Env {
				return s, nil, fmt.Errorf("%s and %s_FILE are both set: unset one", c.Env, c.Env)
			}
			from = c.Env + "_FILE"
			s.ReadableSecrets = append(s.ReadableSecrets, readableWarnings(path, from)...)
			secret, err := os.ReadFile(path)
			if err != nil {
				return s, nil, fmt.Errorf("%s: %w", from, err)
			}
			v = strings.TrimRight(string(secret), "\r\n")
			delete(env, from)
		}
		if fv := flags[c.Flag]; fv != "" {
			v, from = fv, "--"+c.Flag
		}
		delete(file, c.Flag)
		delete(env, c.Env)
		if v == "" {
			continue
		}
		if err := c.set(&s, v); err != nil {
			if err = fmt.Errorf("%s: %w", from, err); flags[c.Flag] != "" {
				err = FlagError{err}
			}
			return s, nil, err
		}
		if v != c.Default {
			s.given[c.Flag] = v
		}
	}
	for name := range file {
		return s, nil, fmt.Errorf("loci.toml: there is no setting %q", name)
	}
	warnings = append(warnings, envWarnings(env)...)
	if s.EmbedKey != "" && s.EmbedURL == "" {
		warnings = append(warnings, "LOCI_EMBED_KEY has no effect without LOCI_EMBED_URL")
	}
	if s.LLMKey != "" && s.LLMURL == "" {
		warnings = append(warnings, "LOCI_LLM_KEY has no effect without LOCI_LLM_URL")
	}
	return s, warnings, s.validate()
}

func envWarnings(env map[string]string) (warnings []string) {
	for name := range env {
		switch {
		case !slices.Contains(clientEnv, name):
			warnings = append(warnings, name+" is not known: check its spelling")
		}
	}
	slices.Sort(warnings)
	return warnings
}

// readConfigFile reads loci.toml, if it exists, as texts.
func readConfigFile(dir string) (map[string]string, error) {
	if dir == "" {
		return nil, nil
	}
	var raw map[string]any
	if _, err := toml.DecodeFile(filepath.Join(dir, backup.ConfigFile), &raw); os.IsNotExist(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("loci.toml: %w", err)
	}
	file := make(map[string]string, len(raw))
	for name, v := range raw {
		if list, ok := v.([]any); ok {
			texts := make([]string, len(list))
			for i, item := range list {
				texts[i] = fmt.Sprint(item)
			}
			v = strings.Join(texts, ",")
		}
		file[name] = fmt.Sprint(v)
	}
	return file, nil
}

// configFileWarnings warns of a loci.toml with secrets that other users can read.
func configFileWarnings(dir string, file map[string]string) []string {
	i := slices.IndexFunc(Catalogue, func(c Setting) bool { return c.hasSecret() && file[c.Flag] != "" })
	if i < 0 {
		return nil
	}
	return readableWarnings(filepath.Join(dir, backup.ConfigFile), Catalogue[i].Flag+" in "+backup.ConfigFile)
}

// readableWarnings warns of a file with a secret that other users can read.
func readableWarnings(path, secret string) []string {
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o044 == 0 || runtime.GOOS == "windows" {
		return nil
	}
	return []string{fmt.Sprintf("other users of this machine can read %s (mode %04o): chmod 600 %s",
		secret, info.Mode().Perm(), path)}
}

// validate checks conditions between several settings.
func (s *Settings) validate() error {
	if s.Data == "" && s.DB == "" {
		return fmt.Errorf("there is no home folder in which to keep the data: name one with --data or LOCI_DATA")
	}
	if !s.hasBlobsAddress() && s.Data == "" {
		return fmt.Errorf("there is no home folder in which to keep files: name one with --data or LOCI_DATA, or a " +
			"bucket with --blobs or LOCI_BLOBS")
	}
	if s.hasBlobsAddress() {
		if _, err := s.openBucket(); err != nil {
			return fmt.Errorf("LOCI_BLOBS (--blobs): %w", err)
		}
	}
	if s.ClockOffset != 0 && !httpapi.IsLoopback(s.Listen) {
		return fmt.Errorf("LOCI_CLOCK_OFFSET (--clock-offset) is for tests: it needs a listener on a loopback address")
	}
	return nil
}

func setDB(s *Settings, v string) error {
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return fmt.Errorf("must be an address like postgres://user@host/database")
	}
	s.DB = v
	return nil
}
