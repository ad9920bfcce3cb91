package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/loci-memory/loci/internal/sqldb"
)

// Notify sends a payload to the listeners of a channel
// (https://www.postgresql.org/docs/current/sql-notify.html).
func (d *database) Notify(ctx context.Context, channel, payload string) error {
	return d.Write(ctx, "", func(c sqldb.Conn) error {
		_, err := c.Exec(`SELECT pg_notify(?1, ?2)`, []any{channel, payload})
		return err
	})
}

// Listen listens on a connection of its own, beside those of the pool.
func (d *database) Listen(ctx context.Context, channel string, f func(payload string)) error {
	c, err := pgx.ConnectConfig(ctx, d.pool.Config().ConnConfig)
	if err != nil {
		return fmt.Errorf("sqldb: listen: %w", err)
	}
	defer c.Close(context.WithoutCancel(ctx))
	if _, err = c.Exec(ctx, `LISTEN `+pgx.Identifier{channel}.Sanitize()); err != nil {
		return fmt.Errorf("sqldb: listen: %w", err)
	}
	f("")
	for {
		n, err := c.WaitForNotification(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("sqldb: listen: %w", err)
		}
		f(n.Payload)
	}
}
