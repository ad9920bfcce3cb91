package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loci-memory/loci/internal/sqldb"
)

func TestDamagedRowsAreUnreadable(t *testing.T) {
	t.Parallel()
	for code, unreadable := range map[string]bool{"XX001": true, "XX002": true, "XX000": false, "57014": false} {
		err := markUnreadable(&pgconn.PgError{Code: code})
		if reason := sqldb.UnreadableReason(err); (reason != "") != unreadable {
			t.Errorf("%s: the reason is %q", code, reason)
		}
		if sqlState(err) != code {
			t.Errorf("%s is lost in %v", code, err)
		}
	}
}
