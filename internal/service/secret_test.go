package service_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	. "github.com/loci-memory/loci/internal/conformance"
	"github.com/loci-memory/loci/internal/logtest"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/secret"
	"github.com/loci-memory/loci/internal/secret/secrettest"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/storetest"
	"github.com/loci-memory/loci/internal/testenv"
)

// newRand returns a generator with the seed LOCI_TEST_SEED, or with a new one that it logs.
func newRand(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("LOCI_TEST_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("LOCI_TEST_SEED=%d repeats this draw", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// samples draws credentials of all formats. It draws a value again that looks like an example by chance ("pass",
// "key"). It fails if the rule of a format finds none of many values.
func samples(t *testing.T, n int) (list []secrettest.Sample) {
	t.Helper()
	r := newRand(t)
	for len(list) < n {
		all := secrettest.RandomSamples(r)
		for i := range all {
			for draws := 1; !isFound(all[i]); draws++ {
				if draws == 20 {
					t.Fatalf("%s finds none of %d credentials like %q", all[i].Rule, draws, all[i].Text)
				}
				all[i] = secrettest.RandomSamples(r)[i]
			}
		}
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		list = append(list, all[:min(20, n-len(list))]...)
	}
	return list
}

// isFound reports whether the rule of a sample finds it in a text.
func isFound(s secrettest.Sample) bool {
	findings := secret.Scan("A note,\n" + s.Text + "\nand more.")
	return len(findings) > 0 && findings[0].Rule == s.Rule
}

// callLogged calls an operation and records its answer.
func callLogged[In, Out any](t *testing.T, l *logtest.Buffer, w *World, key string, o op.TypedOp[In, Out],
	in In) (Out, error) {
	t.Helper()
	out, _, err := CallWithKey(t, w, CallerOwner, key, o, in)
	json.NewEncoder(l).Encode(out)
	if err != nil {
		json.NewEncoder(l).Encode(op.NewErrorBody(err, "x"))
		fmt.Fprintln(l, err)
	}
	return out, err
}

// databaseBytes returns all bytes of a database.
func databaseBytes(t *testing.T, d storetest.Database) []byte {
	t.Helper()
	var all bytes.Buffer
	if d.Dir == "" {
		for _, table := range d.Query(t,
			`SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()`) {
			for _, row := range d.Query(t, `SELECT CAST(x AS TEXT) FROM `+table+` x`) {
				fmt.Fprintln(&all, row)
			}
		}
		return all.Bytes()
	}
	files, err := filepath.Glob(filepath.Join(d.Dir, "*"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		b := testenv.Must(os.ReadFile(f))(t)
		all.Write(b)
	}
	return all.Bytes()
}

// traces returns the pieces that identify a credential: all of it, or the lines of a key, in any letter case.
func traces(s secrettest.Sample) (list []string) {
	for line := range strings.Lines(s.Secret()) {
		if line = strings.ToLower(strings.TrimSpace(line)); len(line) >= 12 && !strings.HasPrefix(line, "-----") {
			list = append(list, line)
		}
	}
	return list
}

// loggedWorld is a world whose answers and logs go to a recorder.
func loggedWorld(t *testing.T, d storetest.Database) (*World, *logtest.Buffer) {
	l := &logtest.Buffer{}
	log := slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w := New(t, func(t testing.TB, o store.Options) *store.Store {
		o.Log = log
		return d.Open(t, o)
	}, Options{})
	w.Host.Log = log
	return w, l
}

func policy(t *testing.T, d storetest.Database, workspace loci.ID, p loci.SecretsPolicy) {
	t.Helper()
	d.Exec(t, `UPDATE workspaces SET secrets = '`+string(p)+`' WHERE id = '`+string(workspace)+`'`)
}

// A leakTest sends texts, and records the answers and the logs.
type leakTest struct {
	*World
	t   *testing.T
	log *logtest.Buffer
}

func (x leakTest) create(key string, in loci.CreateMemory) (loci.Memory, error) {
	in.WorkspaceID = x.Team
	out, err := callLogged(x.t, x.log, x.World, key, service.MemoryCreate, in)
	return out.Memory.Memory, err
}

func (x leakTest) update(in loci.UpdateMemory) (loci.Memory, error) {
	out, err := callLogged(x.t, x.log, x.World, "", service.MemoryUpdate, in)
	return out.Memory, err
}

func (x leakTest) append(key string, in loci.AppendMemory) (loci.Memory, error) {
	out, err := callLogged(x.t, x.log, x.World, key, service.MemoryAppend, in)
	return out.Memory, err
}

func (x leakTest) verify(id loci.ID, text string) (loci.Memory, error) {
	out, err := callLogged(x.t, x.log, x.World, "", service.MemoryVerify,
		loci.VerifyMemory{MemoryID: id, Evidence: ptr(loci.Evidence(text))})
	out.Memory.Content = out.Memory.Evidence // the field that is checked
	return out.Memory, err
}

func (x leakTest) retitle(id loci.ID, text string, on loci.OnSecret) (loci.Memory, error) {
	_, err := x.create("", loci.CreateMemory{Content: "plain", Title: loci.Title(text), Secrets: on})
	if (err == nil) != (on == loci.OnSecretRedact) {
		x.t.Errorf("a title of a new memory: %v", err)
	}
	m, err := x.update(loci.UpdateMemory{MemoryID: id, Title: ptr(loci.OptionalTitle(text)), Secrets: on})
	m.Content = m.Title
	return m, err
}

// ways are the ways in for a text with a credential. A redacting call or workspace answers with the redacted text.
var ways = []struct {
	name     string
	redacted bool
	policy   loci.SecretsPolicy
	send     func(x leakTest, id loci.ID, text string) (loci.Memory, error)
}{
	{"create", false, loci.SecretsReject, func(x leakTest, _ loci.ID, text string) (loci.Memory, error) {
		return x.create("", loci.CreateMemory{Content: loci.Content(text)})
	}},
	{"create without, by key", true, loci.SecretsReject, func(x leakTest, _ loci.ID, text string) (loci.Memory, error) {
		key, in := string(loci.NewID(x.Clock.Now())),
			loci.CreateMemory{Content: loci.Content(text), Secrets: loci.OnSecretRedact}
		first, err := x.create(key, in)
		again, errAgain := x.create(key, in)
		testenv.Equal(x.t, again.ID, first.ID, "once more")
		return again, errors.Join(err, errAgain)
	}},
	{"create for a place without", true, loci.SecretsRedact,
		func(x leakTest, _ loci.ID, text string) (loci.Memory, error) {
			return x.create("", loci.CreateMemory{Content: loci.Content(text), OnDuplicate: loci.OnDuplicateVersion,
				Source: &loci.Source{Name: "log", URI: "/1"}})
		}},
	{"update", false, loci.SecretsReject, func(x leakTest, id loci.ID, text string) (loci.Memory, error) {
		return x.update(loci.UpdateMemory{MemoryID: id, Content: ptr(loci.Content(text))})
	}},
	{"update without", true, loci.SecretsReject, func(x leakTest, id loci.ID, text string) (loci.Memory, error) {
		return x.update(loci.UpdateMemory{MemoryID: id, Content: ptr(loci.Content(text)), Secrets: loci.OnSecretRedact})
	}},
	{"append", false, loci.SecretsReject, func(x leakTest, id loci.ID, text string) (loci.Memory, error) {
		return x.append("", loci.AppendMemory{MemoryID: id, Content: loci.Content(text)})
	}},
	{"append without", true, loci.SecretsAllow, func(x leakTest, id loci.ID, text string) (loci.Memory, error) {
		return x.append(string(loci.NewID(x.Clock.Now())),
			loci.AppendMemory{MemoryID: id, Content: loci.Content(text), Secrets: loci.OnSecretRedact})
	}},
	{"append to a place without", true, loci.SecretsRedact,
		func(x leakTest, id loci.ID, text string) (loci.Memory, error) {
			return x.append("", loci.AppendMemory{MemoryID: id, Content: loci.Content(text)})
		}},
	{"evidence", false, loci.SecretsReject, leakTest.verify},
	{"evidence in a place without", true, loci.SecretsRedact, leakTest.verify},
	{"title", false, loci.SecretsReject, func(x leakTest, id loci.ID, text string) (loci.Memory, error) {
		return x.retitle(id, text, "")
	}},
	{"title without", true, loci.SecretsReject, func(x leakTest, id loci.ID, text string) (loci.Memory, error) {
		return x.retitle(id, text, loci.OnSecretRedact)
	}},
}

func TestCredentialsAreNeitherStoredNorLogged(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		w, l := loggedWorld(t, d)
		id := MustCall(t, w, CallerOwner, service.MemoryCreate,
			loci.CreateMemory{Content: "a log", WorkspaceID: w.Team}).Memory.ID
		list := samples(t, 204)
		now := loci.SecretsReject
		for n := range ways {
			way := ways[n]
			if now != way.policy {
				now = way.policy
				policy(t, d, w.Team, now)
			}
			for i := n; i < len(list); i += len(ways) {
				s := list[i]
				text := "A note,\n" + s.Text + "\nand more."
				if strings.HasPrefix(way.name, "title") && len(text) > loci.MaxTitle {
					text = "Note " + list[i%len(ways)].Text // another credential, of any length
					if len(text) > loci.MaxTitle {
						continue
					}
					s = list[i%len(ways)]
				}
				m, err := way.send(leakTest{w, t, l}, id, text)
				switch {
				case way.redacted && (err != nil || !strings.Contains(m.Content, "[REDACTED:")):
					t.Errorf("%s of a %s: %v, %.80q", way.name, s.Rule, err, m.Content)
				case !way.redacted && !loci.Is(err, loci.CodeSecretDetected):
					t.Errorf("%s of a %s: %v", way.name, s.Rule, err)
				case !way.redacted && !strings.Contains(loci.AsError(err).Message, "("+s.Rule+")"):
					t.Errorf("%s of a %s: told %v", way.name, s.Rule, err)
				case !way.redacted && strings.HasPrefix(text, "A note,") && strings.HasPrefix(s.Text, s.Secret()) &&
					!strings.Contains(loci.AsError(err).Message, "in line 2 "):
					t.Errorf("%s of a %s: told %v", way.name, s.Rule, err)
				}
			}
		}
		callLogged(t, l, w, "", service.MemoryVersions,
			loci.ListVersions{MemoryID: id, Paging: loci.Paging{Limit: 100}})
		callLogged(t, l, w, "", service.MemoryContext, loci.ReadContext{WorkspaceID: w.Team, Limit: 100})
		callLogged(t, l, w, "", service.MemoryList, loci.ListMemories{Paging: loci.Paging{Limit: 100},
			MemoryFilter: loci.MemoryFilter{WorkspaceID: w.Team}})
		testenv.NoError(t, w.Store.Flush(t.Context(), w.Team))
		kept, said := bytes.ToLower(databaseBytes(t, d)), bytes.ToLower([]byte(l.String()))
		if !bytes.Contains(kept, []byte("[redacted:")) || !bytes.Contains(said, []byte("secret_detected")) ||
			!bytes.Contains(said, []byte("level=info")) {
			t.Fatalf("%d bytes are kept, %d said: one looks at the wrong place", len(kept), len(said))
		}
		for _, s := range list {
			for _, trace := range traces(s) {
				if bytes.Contains(kept, []byte(trace)) || bytes.Contains(kept,
					[]byte(hex.EncodeToString([]byte(trace)))) {
					t.Errorf("a %s is kept", s.Rule)
				}
				if bytes.Contains(said, []byte(trace)) {
					t.Errorf("a %s is told", s.Rule)
				}
			}
		}
	})
}

func TestWorkspacePolicyDecidesOnCredentials(t *testing.T) {
	t.Parallel()
	EachWithDB(t, func(t *testing.T, w *World, d storetest.Database) {
		key := "ghp_" + strings.Repeat("aB3dE5gH7", 4)
		in := loci.CreateMemory{Content: loci.Content("key: " + key), Title: loci.Title("Of " + key),
			WorkspaceID: w.Team}
		const without = "[REDACTED:github-pat]"
		policy(t, d, w.Team, loci.SecretsAllow)
		m := MustCall(t, w, CallerMember, service.MemoryCreate, in).Memory
		if m.Content != string(in.Content) || m.Title != string(in.Title) {
			t.Fatalf("%q, %q", m.Title, m.Content)
		}
		MustCall(t, w, CallerMember, service.MemoryUpdate, loci.UpdateMemory{MemoryID: m.ID,
			Content: ptr(loci.Content("plain")), Title: ptr(loci.OptionalTitle("Plain"))})
		kept := MustCall(t, w, CallerMember, service.MemoryCreate, in).Memory.ID

		policy(t, d, w.Team, loci.SecretsReject)
		MustFail(t, w, CallerOwner, service.MemoryRevert, loci.RevertMemory{MemoryID: m.ID, Version: 1},
			loci.CodeSecretDetected)
		if now := w.Get(t, m.ID); now.Version != 2 || now.Content != "plain" {
			t.Errorf("%+v", now)
		}
		// A stored credential does not block a change of other fields.
		MustCall(t, w, CallerMember, service.MemoryUpdate, loci.UpdateMemory{MemoryID: kept, Tags: &loci.Tags{"x"}})
		out := MustCall(t, w, CallerMember, service.MemoryAppend,
			loci.AppendMemory{MemoryID: kept, Content: "harmless"})
		testenv.Equal(t, out.Memory.Content, string(in.Content)+"\nharmless")
		MustFail(t, w, CallerMember, service.MemoryAppend, loci.AppendMemory{MemoryID: kept, Content: in.Content},
			loci.CodeSecretDetected)

		policy(t, d, w.Team, loci.SecretsRedact)
		out = MustCall(t, w, CallerOwner, service.MemoryRevert, loci.RevertMemory{MemoryID: m.ID, Version: 1})
		if out.Memory.Content != "key: "+without || out.Memory.Title != "Of "+without {
			t.Errorf("%q, %q", out.Memory.Title, out.Memory.Content)
		}
		in.Title = ""
		if m := MustCall(t, w, CallerMember, service.MemoryCreate, in).Memory; m.Content != "key: "+without ||
			m.Title != m.Content {
			t.Errorf("%q, %q", m.Title, m.Content)
		}
		in.Secrets = loci.OnSecretRedact
		policy(t, d, w.Team, loci.SecretsAllow)
		testenv.Equal(t, MustCall(t, w, CallerMember, service.MemoryCreate, in).Memory.Content, "key: "+without)
	})
}

// A key that arrives in parts is detected when its parts are together.
func TestCredentialInPartsIsDetected(t *testing.T) {
	t.Parallel()
	EachWithDB(t, func(t *testing.T, w *World, d storetest.Database) {
		r := newRand(t)
		pem := strings.SplitAfter(secrettest.RandomPEM(r, "RSA PRIVATE KEY", 8, "\n"), "\n")
		value := secrettest.RandomString(r, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", 40)
		for name, c := range map[string]struct {
			parts  []string
			secret []string
		}{
			"head and body": {[]string{"A key:\n" + pem[0], strings.Join(pem[1:], "") + "\nAnd more."}, pem[1:9]},
			"head, no end":  {[]string{"A key:\n" + strings.TrimSpace(pem[0]), strings.Join(pem[1:9], "")}, pem[1:9]},
			"line by line":  {append([]string{"A key:\n" + pem[0]}, pem[1:]...), pem[1:9]},
			"behind long text": {[]string{strings.Repeat("日本", 20_000) + "\n" + pem[0], strings.Join(pem[1:], "")},
				pem[1:9]},
			"name and value": {[]string{"api_key =", `"` + value + `" is it`}, []string{value}},
		} {
			for _, p := range []loci.SecretsPolicy{loci.SecretsReject, loci.SecretsRedact} {
				policy(t, d, w.Team, p)
				id := MustCall(t, w, CallerOwner, service.MemoryCreate,
					loci.CreateMemory{Content: loci.Content(c.parts[0]), WorkspaceID: w.Team}).Memory.ID
				told := 0
				for _, part := range c.parts[1:] {
					_, err := op.Do(t.Context(), w.Host, w.Call(CallerOwner), service.MemoryAppend,
						loci.AppendMemory{MemoryID: id, Content: loci.Content(part)})
					if err != nil && (p == loci.SecretsRedact || !loci.Is(err, loci.CodeSecretDetected) ||
						strings.Contains(err.Error(), strings.TrimSpace(c.secret[0]))) {
						t.Errorf("%s, %s: %v", name, p, err)
					} else if err != nil {
						told++
					}
				}
				m := w.Get(t, id)
				for _, s := range c.secret {
					if strings.Contains(m.Content, strings.TrimSpace(s)) {
						t.Errorf("%s, %s: kept is a part of it", name, p)
						break
					}
				}
				if p == loci.SecretsReject && told == 0 || p == loci.SecretsRedact &&
					!strings.Contains(m.Content, "[REDACTED:") || !strings.HasPrefix(m.Content, c.parts[0]) {
					t.Errorf("%s, %s: %d refusals", name, p, told)
				}
				if strings.Contains(c.parts[1], "And more.") && p == loci.SecretsRedact &&
					!strings.HasSuffix(m.Content, "\nAnd more.") {
					t.Errorf("%s: what follows is lost", name)
				}
			}
		}
	})
}

// A redaction mark may be longer than its credential.
func TestRedactedTextIsBounded(t *testing.T) {
	t.Parallel()
	w := New(t, OpenSQLite, Options{})
	key := "AKIA" + "Q3EGRIPYB5MZ7TVA" + "\n"
	in := loci.CreateMemory{Content: loci.Content(strings.Repeat(key, loci.MaxContent/len(key))),
		Secrets: loci.OnSecretRedact}
	MustFail(t, w, CallerOwner, service.MemoryCreate, in, loci.CodeInvalidQuery)
	id := w.Memory(t, "", "a memory")
	MustFail(t, w, CallerOwner, service.MemoryUpdate,
		loci.UpdateMemory{MemoryID: id, Content: &in.Content, Secrets: loci.OnSecretRedact}, loci.CodeInvalidQuery)
	MustCall(t, w, CallerOwner, service.MemoryAppend,
		loci.AppendMemory{MemoryID: id, Content: in.Content[:len(in.Content)/2], Secrets: loci.OnSecretRedact})
}
