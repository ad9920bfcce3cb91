package grantdb

import (
	"fmt"
	"net/url"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/page"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/accountdb"
)

// List returns the live grants of a user, newest first.
func (t Tx) List(userID loci.ID, p page.Request) (page.List[loci.Grant], error) {
	var grants []loci.Grant
	places := map[loci.ID]int{}
	at, id, limit := p.Seek()
	list := page.NewList[loci.Grant](p)
	err := t.conn.Query(`SELECT g.id, g.client_id, g.client_name, g.client_uri, g.redirect_uri, g.scope, g.created_at,
		g.updated_at, g.last_used_at, g.expires_at FROM grants g WHERE g.user_id = ?1 AND (g.created_at, g.id) < (?2, ?3)
		AND`+accountdb.LiveGrant("?4")+`ORDER BY g.created_at DESC, g.id DESC LIMIT ?5`,
		[]any{userID, at, id, t.conn.Now, limit}, func(r sqldb.Row) error {
			g, err := scanGrant(r)
			places[g.ID], grants = len(grants), append(grants, g)
			return err
		})
	if err == nil && len(grants) > 0 {
		err = t.addWorkspaces(grants, places)
	}
	for i := 0; i < len(grants) && list.Add(grants[i]); i++ {
	}
	return list, err
}

func scanGrant(r sqldb.Row) (g loci.Grant, err error) {
	var redirect string
	err = r.Scan(&g.ID, &g.Client.ID, &g.Client.Name, &g.Client.URI, &redirect, &g.Scope, &g.CreatedAt, &g.UpdatedAt,
		&g.LastUsedAt, &g.ExpiresAt)
	g.RedirectHost, g.Workspaces = RedirectHost(redirect), []loci.GrantWorkspace{}
	return g, err
}

// RedirectHost returns the host of a redirect, or the scheme with a colon where a program takes it over.
func RedirectHost(redirect string) string {
	u, err := url.Parse(redirect)
	switch {
	case err != nil || u.Scheme == "":
		return ""
	case u.Scheme == "http" || u.Scheme == "https":
		return u.Host
	}
	return u.Scheme + ":"
}

// addWorkspaces reads the workspaces of grants, which lie at some places of a list.
func (t Tx) addWorkspaces(list []loci.Grant, places map[loci.ID]int) error {
	ids := make([]loci.ID, 0, len(list))
	for _, g := range list {
		ids = append(ids, g.ID)
	}
	return t.conn.Query(`SELECT x.grant_id, w.id, w.name FROM grant_workspaces x
		JOIN workspaces w ON w.row_id = x.workspace WHERE x.grant_id IN (SELECT list.value FROM `+
		fmt.Sprintf(t.conn.Dialect.StringRows, 1)+`) ORDER BY x.grant_id, x.workspace`,
		[]any{sqldb.EncodeStrings(ids)}, func(r sqldb.Row) error {
			var grant loci.ID
			var w loci.GrantWorkspace
			err := r.Scan(&grant, &w.ID, &w.Name)
			g := &list[places[grant]]
			g.Workspaces = append(g.Workspaces, w)
			return err
		})
}
