package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loci-memory/loci"
)

// sessionParameters are the defaults of every session. The address of the database may override them.
var sessionParameters = map[string]string{
	"statement_timeout": "10000", "idle_in_transaction_session_timeout": "30000", "lock_timeout": "10000",
	"application_name": "loci",
}

// probeServer connects once, refuses a database that is another one or that Loci cannot use, and adapts config to a
// connection pooler. PgBouncer refuses the session parameters. In transaction mode each transaction may have another
// session, without the prepared statements of the last one (https://www.pgbouncer.org/features.html).
func probeServer(ctx context.Context, config *pgx.ConnConfig, url string, is *identity,
	log *slog.Logger) error {
	added := []string{}
	for name, value := range sessionParameters {
		if _, set := config.RuntimeParams[name]; !set {
			config.RuntimeParams[name] = value
			if name != "application_name" { // poolers accept this one
				added = append(added, name)
			}
		}
	}
	config.RuntimeParams["client_encoding"] = "UTF8"
	c, err := pgx.ConnectConfig(ctx, config.Copy())
	if rejectsStartupParameters(err) {
		for _, name := range added {
			delete(config.RuntimeParams, name)
		}
		if c, err = pgx.ConnectConfig(ctx, config.Copy()); rejectsStartupParameters(err) {
			return fmt.Errorf("%w: set ignore_startup_parameters in the configuration of the pooler, or leave the "+
				"parameter out of the address", err)
		}
	}
	if err != nil {
		return newUnreachableError(err)
	}
	defer c.Close(context.WithoutCancel(ctx))
	var pid uint32
	var encoding, timeout string
	err = c.QueryRow(ctx,
		`SELECT pg_backend_pid(), current_setting('server_encoding'), current_setting('statement_timeout')`,
		pgx.QueryExecModeSimpleProtocol).Scan(&pid, &encoding, &timeout)
	switch {
	case err != nil:
		return newUnreachableError(err)
	case encoding != "UTF8":
		return loci.Errorf(loci.CodeInvalidQuery, "the database has the encoding %s, Loci needs UTF8: make another "+
			"one with CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0", encoding)
	}
	if err := is.check(ctx, c); err != nil {
		return err
	}
	// A pooler reports an invented process id in the startup packet.
	if pid == c.PgConn().PID() {
		return nil
	}
	if !strings.Contains(url, "default_query_exec_mode=") {
		config.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	if log != nil && timeout == "0" {
		log.Warn("the pooler sets no statement_timeout: set it for the role, with ALTER ROLE ... SET " +
			"statement_timeout = '10s'")
	}
	return nil
}

// rejectsStartupParameters reports the error of a pooler for an unknown session parameter: 08P01, "unsupported
// startup parameter".
func rejectsStartupParameters(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == "08P01" && strings.Contains(e.Message, "startup parameter")
}

// Connect runs f with one connection outside any pool.
func Connect(ctx context.Context, address string, f func(*pgx.Conn) error) error {
	pool, err := parsePoolConfig(address) // removes the parameters of a pool, which the server rejects
	if err != nil {
		return err
	}
	config := pool.ConnConfig
	if !strings.Contains(address, "default_query_exec_mode=") {
		config.DefaultQueryExecMode = pgx.QueryExecModeExec // works behind a pooler
	}
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return newUnreachableError(err)
	}
	defer c.Close(context.WithoutCancel(ctx))
	return f(c)
}

// Ping connects to the database at address, a postgres:// address.
func Ping(ctx context.Context, address string) error {
	return Connect(ctx, address, func(c *pgx.Conn) error { return c.Ping(ctx) })
}

// IsStarting reports whether an error of a connection ends by itself once the server, its host or its name is there:
// the connection failed, or the server starts (57P03), ends (57P01, 57P02) or has no connection left (53300).
func IsStarting(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return slices.Contains([]string{"57P03", "57P01", "57P02", "53300"}, e.Code)
	}
	_, isNetwork := errors.AsType[net.Error](err)
	return isNetwork || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

func newUnreachableError(err error) error {
	return &loci.Error{Code: loci.CodeUnavailable, Message: fmt.Sprintf("the database cannot be reached: %v", err),
		Err: err}
}
