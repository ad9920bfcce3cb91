package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/blob"
	"github.com/loci-memory/loci/internal/cache"
	"github.com/loci-memory/loci/internal/embed"
	"github.com/loci-memory/loci/internal/extract"
	"github.com/loci-memory/loci/internal/extract/llm"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/rest"
	"github.com/loci-memory/loci/internal/server/backup"
	"github.com/loci-memory/loci/internal/service"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/sqldb/postgres"
	"github.com/loci-memory/loci/internal/sqldb/sqlite"
	"github.com/loci-memory/loci/internal/store"
	"github.com/loci-memory/loci/internal/store/integrity"
	"github.com/loci-memory/loci/internal/store/purge"
	"github.com/loci-memory/loci/internal/store/sessiondb"
	"github.com/loci-memory/loci/internal/vector"
)

// Version is the version of this build; releases set it at link time.
var Version = "0.1.0-dev"

// Contract is the version of the contract that the API implements.
const Contract = rest.ContractVersion

// clock returns the machine's clock, shifted.
func (s Settings) clock() loci.Clock {
	if s.ClockOffset == 0 {
		return time.Now
	}
	return func() time.Time { return time.Now().Add(s.ClockOffset) }
}

// embedder returns the embedder: the built-in model or a service, and the
// built-in model as the previous one of a service.
func (s Settings) embedder() (e, previous vector.Embedder, err error) {
	if s.EmbedURL == "" {
		return embed.NewMiniLM(), nil, nil
	}
	e, err = embed.NewRemote(s.EmbedURL, s.EmbedKey, s.EmbedModel)
	return e, embed.NewMiniLM(), err
}

// extractor returns the language model that extracts statements, or nil without one.
func (s Settings) extractor() (extract.Model, error) {
	if s.LLMURL == "" {
		return nil, nil
	}
	return llm.New(s.LLMURL, s.LLMKey, s.LLMModel)
}

// openStore opens the database of a server. Without an embedder it makes no vectors.
func (s Settings) openStore(ctx context.Context, o store.Options) (*store.Store, error) {
	o.Clock, o.Plans = s.clock(), s.Plans
	o.CacheBytes = cache.FitMemory(cmp.Or(s.CacheBytes, cache.DefaultBytes), os.DirFS("/"))
	if s.DB != "" {
		return s.openPostgres(ctx, o)
	}
	if err := s.refusePartialRestore(); err != nil {
		return nil, err
	}
	return openSQLite(ctx, s.Data, o)
}

// openPostgres opens the PostgreSQL database, unless it is another one than that of the data folder.
func (s Settings) openPostgres(ctx context.Context, o store.Options) (st *store.Store, err error) {
	if o.Identity, err = s.readIdentity(); err != nil {
		return nil, err
	}
	st, err = store.OpenPostgres(ctx, s.DB, o)
	if errors.Is(err, postgres.ErrOtherDatabase) {
		err = s.newOtherDatabaseError(err)
	}
	return st, err
}

// newOtherDatabaseError says what to do with a database that is not that of the data folder.
func (s Settings) newOtherDatabaseError(err error) error {
	return &loci.Error{Code: loci.CodeConflict, Err: err, Message: fmt.Sprintf("%v: correct LOCI_DB, or restore "+
		"the dump of the database that was lost. If this database is meant, delete %s", err, s.IdentityPath())}
}

// openSQLite opens the SQLite database in a folder. Its errors name the file.
func openSQLite(ctx context.Context, dir string, o store.Options) (*store.Store, error) {
	st, err := store.OpenSQLite(ctx, dir, o)
	if err == nil {
		if err = integrity.New(st).ReportLostCommits(ctx); err == nil {
			return st, nil
		}
		err = errors.Join(err, st.Close())
	}
	advice := ""
	if sqldb.UnreadableReason(err) != "" {
		advice = ": copy loci.db and loci.db-wal to another place before you try anything. Then put the whole file " +
			"back, or restore a backup"
	} else if errors.Is(err, fs.ErrPermission) {
		advice = ": all files of the folder must belong to the user of the server, also those that root made"
	}
	return nil, fmt.Errorf("%s: %w%s", filepath.Join(dir, sqlite.FileName), err, advice)
}

// RequireDatabase returns an error without a database of Loci: a mistyped name must not make a new one.
func (s Settings) RequireDatabase(ctx context.Context) error {
	there, parent, flag := true, s.Data, "its folder with --data"
	if s.DB != "" {
		var err error
		if there, err = postgres.HasTables(ctx, s.DB); err != nil {
			return err
		}
		if known, _ := s.readIdentity(); !there && known != "" {
			return s.newOtherDatabaseError(fmt.Errorf("the database is empty, and %w", postgres.ErrOtherDatabase))
		}
		parent, flag = "this PostgreSQL database", "another with --db"
	} else if info, err := os.Stat(filepath.Join(s.Data, sqlite.FileName)); errors.Is(err, fs.ErrNotExist) {
		there = false
	} else if err != nil {
		return err
	} else if info.Size() == 0 {
		return loci.Errorf(loci.CodeConflict, "%s is empty: mount its volume, or restore a backup",
			filepath.Join(s.Data, sqlite.FileName))
	}
	if !there {
		if device := filepath.Join(filepath.Dir(s.Data), "local"); s.DB == "" && fileExists(device, sqlite.FileName) {
			flag += fmt.Sprintf(" (that of the database on this device is %s)", device)
		}
		return loci.Errorf(loci.CodeNotFound, "there is no database of Loci in %s: name %s, or make one with loci "+
			"admin user create", parent, flag)
	}
	return nil
}

// fileExists reports whether a folder has a file.
func fileExists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

// An Admin works on the database of a server, whether the server runs or not.
type Admin struct {
	*service.Service
	Purger *purge.Purger

	InferredURL bool // links begin with the address of the listener, because no public URL is set

	settings Settings
}

// OpenAdmin opens the database of a server for its operator. It does not
// migrate the schema: the running server may have an earlier version.
func OpenAdmin(ctx context.Context, s Settings) (*Admin, error) {
	st, err := s.openStore(ctx, store.Options{KeepSchema: true})
	if err != nil {
		return nil, err
	}
	err = s.adopt(ctx, st)
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return &Admin{service.New(service.Options{Store: st, Clock: s.clock(), PublicURL: s.linkURL(),
		Bucket: s.openBucketOrClosed()}),
		purge.New(st), s.PublicURL == "", s}, nil
}

// adopt takes the settings that the server saved, where this process has the default ones.
func (s *Settings) adopt(ctx context.Context, st *store.Store) error {
	saved, err := store.SystemRead(ctx, st, "read the settings of the server", (*store.SystemTx).ServerSettings)
	if err != nil {
		return err
	}
	if s.Plans.Limits == nil {
		s.Plans.Limits = map[loci.PlanName]identity.Plan{}
	}
	for _, c := range Catalogue {
		v, given := saved[c.Flag], s.given[c.Flag]
		if c.saved() && v != "" && given == "" {
			if err := c.set(s, v); err != nil {
				return fmt.Errorf("%s of the server: %w", c.Flag, err)
			}
		}
	}
	st.SetPlans(s.Plans)
	return nil
}

// save stores the settings for the commands of an operator.
func (s Settings) save(ctx context.Context, st *store.Store, listener net.Addr) error {
	saved := map[string]string{"public-url": s.PublicURL, "listen": listener.String()}
	for _, c := range Catalogue {
		if v := s.given[c.Flag]; c.saved() && v != "" && saved[c.Flag] == "" {
			saved[c.Flag] = v
		}
	}
	_, err := store.System(ctx, st, "save the settings of the server", func(t *store.SystemTx) (loci.Empty, error) {
		return loci.Empty{}, t.SaveServerSettings(saved)
	})
	return err
}

// Settings are those of the process, with those that the server saved in place of defaults.
func (a *Admin) Settings() Settings { return a.settings }

// CreateUser makes an account. An account without a password cannot sign in, but can have keys.
func (a *Admin) CreateUser(ctx context.Context, email, name, password string) (loci.User, error) {
	return a.AddUser(ctx, Address(email), loci.Name(name), loci.Password(password))
}

// CreateKey makes an API key for the user with an address.
func (a *Admin) CreateKey(ctx context.Context, email, name string) (loci.CreatedKey, error) {
	k, err := a.AddKey(ctx, Address(email), loci.Name(name))
	return k, withEmail(email, err)
}

// MarkVerified marks the address of a user as verified.
func (a *Admin) MarkVerified(ctx context.Context, email string) (loci.User, error) {
	u, err := a.VerifyUser(ctx, Address(email))
	return u, withEmail(email, err)
}

// ResetPassword makes a link with which the user with an address chooses another password. All sign-ins end.
func (a *Admin) ResetPassword(ctx context.Context, email string) (service.ResetLink, error) {
	r, err := a.MakeResetLink(ctx, Address(email))
	return r, withEmail(email, err)
}

// ChangePlan gives a user a plan of its own. The name "default" gives the default plan of the server back.
func (a *Admin) ChangePlan(ctx context.Context, email, plan string) (loci.User, error) {
	name := loci.PlanName(plan)
	if _, known := identity.DefaultPlans[name]; plan == defaultPlan {
		name = ""
	} else if !known {
		return loci.User{}, loci.Errorf(loci.CodeInvalidQuery, "There is no plan %q: name free, pro, selfhosted or %s.",
			plan, defaultPlan)
	}
	u, err := a.SetPlan(ctx, Address(email), name)
	return u, withEmail(email, err)
}

// DisableUser disables a user, or enables it again.
func (a *Admin) DisableUser(ctx context.Context, email string, disabled bool) (loci.User, error) {
	u, err := a.SetDisabled(ctx, Address(email), disabled)
	return u, withEmail(email, err)
}

// DeleteUser counts what goes with a user, and deletes it if apply is set. A running server erases the personal
// workspace in the background.
func (a *Admin) DeleteUser(ctx context.Context, email string, apply bool) (purge.Result, error) {
	_, err := a.Service.DeleteUser(ctx, Address(email), true)
	if err != nil {
		return purge.Result{}, withEmail(email, err)
	}
	n, err := a.Purger.CountUser(ctx, Address(email))
	if err == nil && apply {
		_, err = a.Service.DeleteUser(ctx, Address(email), false)
	}
	return n, withEmail(email, err)
}

// ShowUser returns the user with an address, with usage and workspaces.
func (a *Admin) ShowUser(ctx context.Context, email string) (service.UserDetail, error) {
	u, err := a.Service.ShowUser(ctx, Address(email))
	return u, withEmail(email, err)
}

// ListKeys lists the API keys of the user with an address, or of all users.
func (a *Admin) ListKeys(ctx context.Context, email string) (service.UserKeys, error) {
	list, err := a.ListUserKeys(ctx, Address(email))
	return list, withEmail(email, err)
}

// ListWorkspaces lists the workspaces of the user with an address, or of all users.
func (a *Admin) ListWorkspaces(ctx context.Context, email string) (service.AllWorkspaces, error) {
	list, err := a.ListAllWorkspaces(ctx, Address(email))
	return list, withEmail(email, err)
}

// defaultPlan is the operator's name of the plan of users without one of their own.
const defaultPlan = "default"

// Address returns the address that an operator gives, as other transports read it.
func Address(email string) loci.Email { return loci.Email(op.BareAddress(email)) }

// withEmail adds the address to a not-found error.
func withEmail(email string, err error) error {
	if loci.Is(err, loci.CodeNotFound) {
		return loci.Errorf(loci.CodeNotFound, "There is no user with the address %q.", email)
	}
	return err
}

// Inspect compares derived data with the memories, and attachments with their objects, and repairs them if repair is
// set. It accepts damaged rows with the ids of accept. Progress receives the number of checked rows now and then.
func (a *Admin) Inspect(ctx context.Context, repair bool, accept []string,
	progress func(rows int64)) (integrity.Report, error) {
	return integrity.New(a.Store).Check(ctx, integrity.Options{Repair: repair, Accept: accept, Progress: progress,
		Objects: checkedObjects{a.Bucket}})
}

// SchemaStatus compares the schema of the database with the migrations of this program.
func (s Settings) SchemaStatus(ctx context.Context) (sqldb.SchemaStatus, error) {
	if s.DB != "" {
		return postgres.SchemaStatus(ctx, s.DB)
	}
	return sqlite.SchemaStatus(ctx, s.Data)
}

// A Migration reports the schema version before, and whether it was upgraded.
type Migration struct {
	sqldb.SchemaStatus
	Migrated bool `json:"migrated"`
}

// Migrate upgrades the schema of the database, or with dryRun only reports the
// pending migrations. It rejects a folder in which a server runs, the schema of
// a newer program, and a database that lacks tables of its schema.
func (s Settings) Migrate(ctx context.Context, dryRun bool) (m Migration, err error) {
	if m.SchemaStatus, err = s.SchemaStatus(ctx); err != nil {
		return m, err
	}
	if len(m.Pending) == 0 {
		st, err := s.openStore(ctx, store.Options{KeepSchema: true})
		if err == nil {
			err = st.Close()
		}
		return m, err
	}
	if dryRun {
		return m, nil
	}
	unlock, err := s.lock()
	if err != nil {
		return m, err
	}
	defer unlock()
	st, err := s.openStore(ctx, store.Options{})
	if err != nil {
		return m, err
	}
	m.Migrated = true
	return m, st.Close()
}

// Close closes the database.
func (a *Admin) Close() error { return a.Store.Close() }

// A Local is the service on the own device: a database with one owner, without accounts and sockets.
type Local struct {
	Host    *op.Host
	service *service.Service
	store   *store.Store
	owner   loci.ID
}

// localOwner is the address of the one user of a local database. No mail reaches it.
const localOwner loci.Email = "local@localhost"

// localURL begins the addresses of a local database. No program listens there.
const localURL = "http://localhost"

// HasLocal reports whether a folder has a local database.
func HasLocal(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, sqlite.FileName))
	return err == nil
}

// OpenLocal opens the local database in dir. Several processes may open it.
// With oneShot it runs for one command, and is interrupted with ctx.
func OpenLocal(ctx context.Context, dir string, oneShot bool) (*Local, error) {
	model := embed.NewMiniLM()
	bucket, err := blob.OpenFolder(filepath.Join(dir, backup.FilesFolder))
	if err != nil {
		return nil, err
	}
	st, err := openSQLite(ctx, dir, store.Options{Embedder: model, OneShot: oneShot})
	if err != nil {
		return nil, err
	}
	s := service.New(service.Options{Store: st, Embedder: model, Clock: time.Now, PublicURL: localURL, Bucket: bucket,
		MaxFile: loci.MaxFileSize,
		UsedOperations: func(context.Context, *identity.Actor) (int64, time.Time, error) {
			return 0, identity.MonthEnd(time.Now()), nil
		}})
	owner, err := s.EnsureUser(ctx, localOwner)
	if err != nil {
		st.Close()
		return nil, err
	}
	if !oneShot {
		ctx = context.WithoutCancel(ctx)
	}
	st.Jobs().Start(ctx)
	return &Local{service: s, store: st, owner: owner.ID, Host: &op.Host{Service: s, Log: slog.New(slog.DiscardHandler),
		Admit: func(context.Context, *op.Op, *op.Call) (*identity.Actor, error) {
			return &identity.Actor{UserID: owner.ID, Email: owner.Email, CredentialKind: identity.CredentialLocal,
				CredentialID: owner.ID, Plan: identity.DefaultPlans[loci.PlanSelfHosted],
				BasePlan: loci.PlanSelfHosted}, nil
		}}}, nil
}

// Close closes the database.
func (l *Local) Close() error {
	// No server sweeps this database. What a command has no time for, the next one deletes.
	ctx, end := context.WithTimeout(context.Background(), localSweepTime)
	defer end()
	_ = sessiondb.DeleteExpiredTexts(ctx, l.store.DB())
	return l.store.Close()
}

// localSweepTime bounds the sweep at the end of a command.
const localSweepTime = 100 * time.Millisecond
