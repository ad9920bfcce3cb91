package server

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestLoadReadsEmbedderFromFlagEnvOrFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "loci.toml"), []byte("embed-key = \"sk-from-the-file\"\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	s, warnings, err := Load(map[string]string{"data": dir, "embed-model": "tiny"},
		[]string{"LOCI_EMBED_URL=http://127.0.0.1:9/v1"})
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	if s.EmbedURL != "http://127.0.0.1:9/v1" || s.EmbedKey != "sk-from-the-file" || s.EmbedModel != "tiny" {
		t.Errorf("%q, %q, %q", s.EmbedURL, s.EmbedKey, s.EmbedModel)
	}
	s, _, err = Load(map[string]string{"data": t.TempDir()}, nil)
	if err != nil || s.EmbedURL != "" || s.EmbedModel != "text-embedding-3-small" {
		t.Errorf("without any: %q, %q, %v", s.EmbedURL, s.EmbedModel, err)
	}
}

func TestLoadReadsOriginsAsBrowsersSendThem(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"https://App.example.org": "https://app.example.org", "HTTPS://app.example.org:443": "https://app.example.org",
		"http://[2001:DB8::80]:80": "http://[2001:db8::80]", "http://app.example.org:443": "http://app.example.org:443",
	} {
		s, _, err := Load(map[string]string{"data": t.TempDir()},
			[]string{"LOCI_CORS_ORIGINS=" + given, "LOCI_PUBLIC_URL=" + given})
		if err != nil || !slices.Equal(s.Origins, []string{want}) || s.PublicURL != want {
			t.Errorf("%s: %q, %q, %v", given, s.Origins, s.PublicURL, err)
		}
	}
	for _, bad := range []string{"app.example.org", "https://ann@app.example.org", "https://ann:x@app.example.org",
		"https://bücher.example", "https://b%C3%BCcher.example", "https://app.example.org:", "https://",
		"https://app.example.org:0", "https://app.example.org:65536",
		"ftp://a.example",
		"https://app.example.org/a", "https://app.example.org?a", "https://app.example.org#a"} {
		for _, name := range []string{"LOCI_CORS_ORIGINS=", "LOCI_PUBLIC_URL="} {
			if _, _, err := Load(map[string]string{"data": t.TempDir()}, []string{name + bad}); err == nil {
				t.Errorf("%s%s is accepted", name, bad)
			}
		}
	}
	const slash = "https://app.example.org/"
	if _, _, err := Load(map[string]string{"data": t.TempDir()}, []string{"LOCI_CORS_ORIGINS=" + slash}); err == nil {
		t.Errorf("the origin %s is accepted", slash)
	}
	s, _, err := Load(map[string]string{"data": t.TempDir()}, []string{"LOCI_PUBLIC_URL=" + slash})
	if err != nil || s.PublicURL+"/" != slash {
		t.Errorf("the public URL %s: %q, %v", slash, s.PublicURL, err)
	}
}

func TestLoadRejectsInvalidEmbedder(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"LOCI_EMBED_URL=tuna", "LOCI_EMBED_URL=https://ann:tuna@example.org/v1",
		"LOCI_EMBED_URL=https://example.org/v1?key=tuna",
		"LOCI_EMBED_KEY=sk tuna", "LOCI_EMBED_KEY=sk-tuna\n", "LOCI_EMBED_MODEL=two tuna",
		"LOCI_EMBED_MODEL=" + strings.Repeat("tuna", 51),
	} {
		name, _, _ := strings.Cut(bad, "=")
		_, _, err := Load(map[string]string{"data": t.TempDir()}, []string{bad})
		if err == nil || !strings.HasPrefix(err.Error(), name+": ") || strings.Contains(err.Error(), "tuna") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestLoadWarnsOfKeyWithoutEmbedder(t *testing.T) {
	t.Parallel()
	_, warnings, err := Load(map[string]string{"data": t.TempDir()}, []string{"LOCI_EMBED_KEY=sk-tuna"})
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "LOCI_EMBED_URL") ||
		strings.Contains(warnings[0], "tuna") {
		t.Error(warnings, err)
	}
}

func TestLoadIgnoresEmptyValues(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "loci.toml"), []byte("rate-limit = \"\"\nrate-burst = \"7\"\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	s, _, err := Load(map[string]string{"data": "", "signin-limit": "", "listen": "", "plan": "", "rate-burst": ""},
		[]string{"LOCI_DATA=" + dir, "LOCI_PLAN=free"})
	if err != nil || s.Data != dir || s.SignInLimit != 20 || s.Listen != "127.0.0.1:7007" ||
		s.Plans.Default != "free" ||
		s.RateLimit != 1200 || s.RateBurst != 7 {
		t.Errorf("%+v %v", s, err)
	}
}

func TestLoadReadsTheDatabaseFromFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "db")
	if err := os.WriteFile(file, []byte("postgres://loci:tuna@db.example/loci\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, warnings, err := Load(map[string]string{"data": dir}, []string{"LOCI_DB_FILE=" + file})
	if err != nil || len(warnings) > 0 || s.DB != "postgres://loci:tuna@db.example/loci" {
		t.Errorf("%q %v %v", s.DB, warnings, err)
	}
}

func TestLoadWarnsOfSecretsThatOthersCanRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		mode os.FileMode
		want string
	}{
		{"db = \"postgres://loci:tuna@db.example/loci\"\n", 0o640, "db in loci.toml (mode 0640): chmod 600"},
		{"llm-key = \"sk-tuna\"\nllm-url = \"http://127.0.0.1:1/v1\"\n", 0o604, "llm-key in loci.toml (mode 0604)"},
		{"db = \"postgres://loci:tuna@db.example/loci\"\n", 0o600, ""},
		{"rate-burst = 7\n", 0o644, ""},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "loci.toml")
		if err := errors.Join(os.WriteFile(path, []byte(c.text), 0o600), os.Chmod(path, c.mode)); err != nil {
			t.Fatal(err)
		}
		_, warnings, err := Load(map[string]string{"data": dir}, nil)
		told := strings.Join(warnings, "\n")
		if err != nil || !strings.Contains(told, c.want) || c.want == "" && told != "" ||
			strings.Contains(told, "tuna") {
			t.Errorf("%s with mode %v: %q, %v", c.text, c.mode, told, err)
		}
	}
}

func TestLoadRefusesBlankFolder(t *testing.T) {
	t.Parallel()
	if _, _, err := Load(nil, []string{"LOCI_DATA= "}); err == nil || !strings.Contains(err.Error(), "LOCI_DATA") {
		t.Errorf("told %v", err)
	}
}

func TestServeRefusesInvalidDeprecations(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "removals.json")
	const days = `", "announced": "2026-01-01", "sunset": "2026-06-30"}]`
	for text, want := range map[string]string{
		`[{"route": "GET /v1/tuna` + days: `no route "GET /v1/tuna"`,
		// the variant lacks it
		`[{"route": "DELETE /v1/memories/{memoryId}` + days: `no route "DELETE /v1/memories/{memoryId}"`,
		strings.Repeat(" ", maxDeprecations+1):              "more than 1 MiB",
		"":                                                  "no such file",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if text == "" {
			os.Remove(file)
		}
		data := filepath.Join(dir, "data")
		s, warnings, err := Load(map[string]string{"data": data, "contract": "b"}, []string{"LOCI_DEPRECATE=" + file})
		if err != nil || len(warnings) > 0 {
			t.Fatal(err, warnings)
		}
		err = Serve(t.Context(), s, io.Discard, io.Discard)
		if err == nil || !strings.HasPrefix(err.Error(), "LOCI_DEPRECATE") || !strings.Contains(err.Error(), file) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v", text, err)
		}
		if _, err := os.Stat(data); !os.IsNotExist(err) {
			t.Errorf("the data folder exists: %v", err)
		}
	}
}

// FuzzLoad gives a setting any value. It is accepted, or refused by name; a secret value is in no error.
func FuzzLoad(f *testing.F) {
	dir := f.TempDir()
	for i, c := range Catalogue {
		f.Add(uint8(i), c.Default)
	}
	for _, v := range []string{"https://[::1", "postgres://a:b@/x?y=%zz", "10.0.0.0/99,::/0", "-1",
		"9223372036854775808", "1h\n", "http://a.example,http://b.example:0", "\xff"} {
		for i := range Catalogue {
			f.Add(uint8(i), v)
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, value string) {
		c := Catalogue[int(n)%len(Catalogue)]
		if c.Flag == "data" {
			return // the folder has loci.toml
		}
		_, _, err := Load(map[string]string{"data": dir}, []string{c.Env + "=" + value})
		if err == nil {
			return
		}
		if !strings.Contains(err.Error(), c.Env) {
			t.Errorf("%s=%q: %v", c.Env, value, err)
		}
		if c.Secret() && len(value) > 8 && strings.Contains(err.Error(), value) {
			t.Errorf("%s: %v", c.Env, err)
		}
	})
}

// FuzzConfigFile gives loci.toml any text.
func FuzzConfigFile(f *testing.F) {
	f.Add("listen = \"127.0.0.1:7\"\nrate-limit = 7\ncors-origins = [\"https://a.example\"]")
	f.Add("[plan]\nfree = 1")
	f.Add("embed-key = \"\x00\"")
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "loci.toml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := Load(map[string]string{"data": dir}, nil)
		if err != nil && !strings.Contains(err.Error(), "loci.toml") {
			t.Errorf("%v", err)
		}
	})
}
