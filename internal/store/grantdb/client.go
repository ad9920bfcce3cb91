package grantdb

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/sqldb"
)

// clientTTL is how long a registered client is kept without a grant after its last use.
const clientTTL = 7 * 24 * time.Hour

// maxClients is the number of registered clients. Beyond it, a new one ends those without a grant that were not used
// for the longest time: anyone can register, from many addresses.
const maxClients = 10_000

// clientUseInterval is the accuracy of the time of a client's last use. Refreshes of many users then rarely write it.
const clientUseInterval = 24 * time.Hour

// A Client is an OAuth client that registered itself (RFC 7591). Everything but ID and CreatedAt is its own claim.
type Client struct {
	ID           string
	Name         string
	URI          string
	RedirectURIs []string
	CreatedAt    loci.Time
}

// AddClient stores a client with an id that is new.
func (t Tx) AddClient(c Client) error {
	if err := t.conn.AdvisoryLock("oauth clients"); err != nil {
		return err
	}
	if err := t.deleteClients(`used_at <= (SELECT x.used_at FROM oauth_clients x ORDER BY x.used_at DESC
		LIMIT 1 OFFSET ?1)`, maxClients-1); err != nil {
		return err
	}
	_, err := t.conn.Exec(`INSERT INTO oauth_clients (id, name, uri, redirect_uris, created_at, used_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?5)`, c.ID, c.Name, c.URI, sqldb.EncodeStrings(c.RedirectURIs), t.conn.Now)
	return err
}

// Client returns the registered client with an id, or NotFound. The id may be any bytes.
func (t Tx) Client(id string) (c Client, err error) {
	if !utf8.ValidString(id) || strings.Contains(id, "\x00") { // PostgreSQL refuses them
		return c, loci.NewError(loci.CodeNotFound)
	}
	var redirects string
	err = t.conn.QueryRow(`SELECT id, name, uri, redirect_uris, created_at FROM oauth_clients WHERE id = ?1`, []any{id},
		[]any{&c.ID, &c.Name, &c.URI, &redirects, &c.CreatedAt})
	if err != nil {
		return c, sqldb.MapNoRows(err)
	}
	c.RedirectURIs, err = sqldb.DecodeStrings[string](redirects)
	return c, err
}

// touchClient records that a registered client was used. The id of another client matches no row.
func (t Tx) touchClient(id string) error {
	_, err := t.conn.Exec(`UPDATE oauth_clients SET used_at = ?2 WHERE id = ?1 AND used_at < ?3`, id, t.conn.Now,
		t.before(clientUseInterval))
	return err
}

// deleteUnusedClients deletes the clients without a grant that were not used for clientTTL.
func (t Tx) deleteUnusedClients() error { return t.deleteClients(`used_at <= ?1`, t.before(clientTTL)) }

// deleteClients deletes the clients that meet a condition and have neither a grant nor a code.
func (t Tx) deleteClients(condition string, args ...any) error {
	_, err := t.conn.Exec(`DELETE FROM oauth_clients WHERE `+condition+`
		AND NOT EXISTS (SELECT 1 FROM grants g WHERE g.client_id = oauth_clients.id)
		AND NOT EXISTS (SELECT 1 FROM oauth_codes c WHERE c.client_id = oauth_clients.id)`, args...)
	return err
}
