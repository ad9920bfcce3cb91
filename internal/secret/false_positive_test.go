package secret

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/relevance/datasettest"
	"github.com/loci-memory/loci/internal/secret/secrettest"
	"github.com/loci-memory/loci/internal/testenv"
)

// goSourceFiles returns the directory of the source of Go.
func goSourceFiles(t *testing.T) string {
	t.Helper()
	out := testenv.Must(exec.Command("go", "env", "GOROOT").Output())(t)
	return filepath.Join(strings.TrimSpace(string(out)), "src")
}

// Go's own source contains real keys and passwords in its tests for
// cryptography, HTTP and URLs. The bound allows for other versions.
func TestScanFindsLittleInGoSource(t *testing.T) {
	t.Parallel()
	const maximum = 15
	files, hit := 0, 0
	root := goSourceFiles(t)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		if got := scanRules(string(text)); got != "" {
			hit++
			t.Logf("%s: %.400s", strings.TrimPrefix(path, root), got)
		}
		return nil
	})
	if err != nil || files < 5000 || hit > maximum {
		t.Errorf("findings in %d of %d files, want at most %d; %v", hit, files, maximum, err)
	}
}

// Lines of programs, of configuration files, and of prose.
func TestScanFindsNothingInOrdinaryLines(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"password=changeme", "password: changeme123!", "DB_PASS=secret", "pwd=$PWD", "PWD=/home/joe/src/Loci-2.1/X11R6",
		"pass = 'hunter2'", "password=********",
		"token: string", "token?: string | null;", "password: Optional[str] = None", "pass: &[u8; 32],",
		"token: Option<Box<dyn Fn(u8) -> T1>>", "func (t *Token) Pass(a, b int) (T1, error) {",
		"password = os.Getenv(\"DB_PASSWORD_2\")", "password = process.env.DB_PASSWORD_V2!",
		"password: \"${DB_PASSWORD}\"", "--- PASS: TestParser/V2_Case3b/X1 (0.00s)", "PASS: TestA/pg15",
		`PASS="\x1b[32mPASS\x1b[0m"`,
		"db_pass: TestA/pg15/B2c", "pwd := r.FormValue(\"pwd\")[:8]",
		"password: {{ .Values.db.passwordV2 }}", "password: !secret db_password_2", "password: <your-Password-1>",
		"password=%s&token=%d", "PASSWORD=$(pass show db/Prod1 | head -n1)",
		"const pass = e.Q3&&t(A,2)||n[B1]", "pass := x[i+1]*Y2>>3 == (z^Q7)", "this.pwd=a.b.C3(d).E4||F5;",
		"password === confirmPassword2 && token !== null", "token = tokens[i+1].Value2()",
		"private := NewKeyFromSeed(seed)", "secret := fromHex(\"", "api_key = settings.API_KEY_V2",
		"client_secret = args['client_secret']",
		"auth_token: Joi.string().min(8).regex(/^(?=.*[A-Z])(?=.*[0-9]).{8,}$/)",
		"password: /^(?=.*[A-Z])(?=.*\\d)[A-Za-z\\d@$!%*?&]{8,}$/", "token: 2026-11-21T17:47:39Z",
		"token = v1.2.3-rc4+b5", "nextPageToken: \"CAEQ1a2B3c4D5e6F7g8H9\"", "page_token=a1B2c3D4e5F6g7H8i9J0",
		"password: $2b$12$" + "KIXQ0xZ1aB3cD4eF5gH6iuJ7kL8mN9oP0qR1sT2uV3wX4yZ5a6B7c",
		"password: \"$argon2id$v=19$m=19456,t=2,p=1$" + "c2FsdHNhbHQ$aB3cD4eF5gH6iJ7kL8mN9oP\"",
		"password: sha256:" + strings.Repeat("0aB1", 10),
		"password_hash = pbkdf2_sha256$600000$" + "x1Y2z3$A4b5C6d7E8f9G0h1I2j3K4l5M6n7O8p9",
		"password: ENC(" + "aB3cD4eF5gH6iJ7kL8mN9oP0qR1sT2uV)", "secret: projects/p1/Secrets/S2-x/versions/3",
		"The password of the office is on the wall, room Q4-B2.", "the password hashing uses Argon2id, see RFC9106",
		"Das Passwort für den Drucker ist im Tresor 4B.", "password TestLogin2Fa/pg15 passes",
		"password reset-V2: done",
		"The token of the first page is the cursor that nextCursor2b names.", "password field2Value is required",
		"The password is on the wall.", "the password is \"on the wall\", he said",
		"Her password is her dog's name, and the token is a coin.", "A pass is made of 3 steps: read, sort, write.",
		"Bearer tokens are sent in a header.", "Bearer of bad news",
		"Use the Authorization: Bearer <token> header.", "Authorization: Bearer YOUR_ACCESS_TOKEN_HERE",
		"Authorization: Basic " + "QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Authorization: Basic " + "dXNlcm5hbWU6cGFzc3dvcmQ=",
		"authorization = request.headers.get('Authorization')",
		"machine learning login flow and its password reset", "machine example.com login daniel password qwerty",
		"machine host login joe password <your-password>", "sig=verified", "key-value store",
		"restore-keys: build-key-" + strings.Repeat("0a1b2c3d", 4),
		"ssh-ed25519 " + "AAAAC3NzaC1lZDI1NTE5AAAAIGk3vQ2mX9sT4bR7nW1pL5yH8cJ0dF6aZ3xK2uV4eM9q joe@host",
		"SHA256:" + "nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8 joe (ED25519)", "Public-Lines: 3",
		"Private-Lines: 1\nno key\n",
		"go: added token v0.0.0-" + "20260102030405-0a1b2c3d4e5f", "figd_" + strings.Repeat("a", 40),
		"gsk_your_api_key", "whsec_...", "https://discord.com/api/webhooks/ID/TOKEN", "xai-grok-2 is a model",
		"r8_config_of_the_eighth_register_of_it_all",
		"the skeleton key: 2 of 3 players", "password (min. 8, max. 64 characters): required",
		"PASSWORD_MIN=12; PASSWORD_RE='.{12,}'", "<password>${env.DB_PASSWORD2}</password>",
		"tool --password \"$DB_PASS\" --token-file ./T1.txt",
	} {
		testenv.Equal(t, scanRules(line), "", line)
	}
}

// Base64 of programs has long runs of zero bytes, and so many tokens of Square by chance.
func TestScanFindsNothingInBase64Binaries(t *testing.T) {
	t.Parallel()
	const piece, maximum = 30 << 10, 8 << 20
	program := testenv.Must(exec.LookPath("go"))(t)
	code := testenv.Must(os.ReadFile(program))(t)
	hits, pieces := 0, 0
	for code = code[:min(len(code), maximum)]; len(code) > 0; code = code[min(len(code), piece):] {
		pieces++
		text := base64.StdEncoding.EncodeToString(code[:min(len(code), piece)])
		if got := scanRules(text); got != "" {
			hits++
			t.Logf("%.200s", got)
		}
	}
	if hits*100 > pieces {
		t.Errorf("findings in %d of %d pieces", hits, pieces)
	}
}

const projectRoot = "../.."

// corpus returns the texts of a dataset.
func corpus(t testing.TB, name string) (texts []string) {
	t.Helper()
	f := testenv.Must(os.Open(filepath.Join(datasettest.Dir(t, name), "docs.jsonl")))(t)
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var d struct{ Title, Text string }
		testenv.NoError(t, json.Unmarshal(lines.Bytes(), &d))
		texts = append(texts, d.Title+"\n"+d.Text, lines.Text())
	}
	return texts
}

func TestScanFindsNothingInCorpora(t *testing.T) {
	t.Parallel()
	for _, name := range datasettest.Present(t, "docs", "code", "xquad-en", "xquad-ru", "xquad-zh", "jaquad",
		"locomo-sessions") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, text := range corpus(t, name) {
				testenv.Equal(t, scanRules(text), "")
			}
		})
	}
}

// The sources of Loci hold no secret, its tests and lock files included.
func TestScanFindsNothingInSources(t *testing.T) {
	t.Parallel()
	files := 0
	err := filepath.WalkDir(projectRoot, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && path != projectRoot &&
			(strings.HasPrefix(name, ".") || name == "node_modules" || name == "testdata" || name == "bin") {
			return fs.SkipDir
		}
		if info, err := d.Info(); err != nil || !info.Mode().IsRegular() || info.Size() > 4<<20 {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		testenv.Equal(t, scanRules(string(text)), "", path)
		return nil
	})
	if err != nil || files < 100 {
		t.Errorf("%v after %d files", err, files)
	}
}

// recallFloors are the least recall of whole credentials of each kind, over all contexts. docs/security.md states them.
var recallFloors = map[string]float64{
	"own prefix or shape": .98, "name of a provider": .93, "private keys, signed tokens": .96,
	"passwords with symbols": .84, "passwords of letters and digits": .84,
	"keys of letters and digits": .98, "keys of hexadecimal digits": .98, "keys with symbols": .87,
	"keys in base64": .96, "keys of letters": .72,
}

// coversValue reports whether findings cover all of a value.
func coversValue(all []Finding, from, to int) bool {
	for _, f := range all {
		if f.From <= from && from < f.To {
			from = f.To
		}
	}
	return from >= to
}

func TestScanFindsCredentialsInEveryContext(t *testing.T) {
	t.Parallel()
	const draws = 4
	formats := map[string]bool{}
	all, found, places := map[string]int{}, map[string]int{}, map[string][2]int{}
	missed := map[string]string{}
	for seed := range uint64(draws) {
		for _, kind := range secrettest.RandomKinds(rand.New(rand.NewPCG(seed, 7))) {
			for _, c := range kind.Credentials {
				formats[fmt.Sprint(kind.Name, c.Format, len(c.Value))] = true
				for _, p := range secrettest.Contexts {
					text, from, to := p.Render(c.Name, c.Value)
					at := places[kind.Name+", "+p.Name]
					all[kind.Name]++
					at[1]++
					if coversValue(Scan(text), from, to) {
						found[kind.Name]++
						at[0]++
					} else {
						missed[kind.Name+", "+p.Name] = text
					}
					places[kind.Name+", "+p.Name] = at
				}
			}
		}
	}
	if len(formats) < 100 || len(secrettest.Contexts) < 20 {
		t.Errorf("%d formats in %d places", len(formats), len(secrettest.Contexts))
	}
	for kind, n := range all {
		share := float64(found[kind]) / float64(n)
		t.Logf("%s: %d of %d, %.3f", kind, found[kind], n, share)
		if share < recallFloors[kind] {
			t.Errorf("%s: %.3f are found, want %.3f", kind, share, recallFloors[kind])
		}
	}
	for place, text := range missed {
		if n := places[place]; n[0]*10 < n[1]*9 {
			t.Logf("%s: %d of %d, not in %q", place, n[0], n[1], text)
		}
	}
}
