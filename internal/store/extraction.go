package store

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/sqldb"
	"github.com/loci-memory/loci/internal/store/accountdb"
	"github.com/loci-memory/loci/internal/store/jobdb"
	"github.com/loci-memory/loci/internal/store/sessiondb"
)

// FinishJob ends a job in the transaction with its effect: see jobdb.Queue.Finish.
func (t *Tx) FinishJob(j jobdb.Job) error { return t.store.jobs.Finish(t.conn, j) }

// OwnerOfEvent returns the session of an event, and its user as the actor of a job. The actor has presented no
// credential, and reaches the workspace of the session alone. Without a user who may sign in it is NotFound.
func (t *SystemTx) OwnerOfEvent(id loci.ID) (session loci.ID, actor *identity.Actor, err error) {
	var c accountdb.Credential
	var workspace, agent loci.ID
	err = t.ScanCredential(t.t.conn.Row(`SELECT`+accountdb.CredentialColumns+`, s.id, s.agent_id, w.id
		FROM session_events v JOIN sessions s ON s.row_id = v.session JOIN workspaces w ON w.row_id = s.workspace
		JOIN users u ON u.id = s.user_id WHERE v.id = ?1`, id), &c, &session, &agent, &workspace)
	if err == nil && c.Revoked {
		err = loci.NewError(loci.CodeNotFound)
	}
	return session, &identity.Actor{UserID: c.UserID, Email: c.Email, Plan: c.Plan, BasePlan: c.BasePlan,
		OpenReferral: c.OpenReferral, AgentID: agent, GrantedWorkspaces: []loci.ID{workspace}}, err
}

// OpenTurn returns the turn of an event of the session. Where the session has ended, or a place of it is archived, it
// is state_conflict.
func (v *SessionView) OpenTurn(eventID loci.ID) (turn sessiondb.Turn, err error) {
	t := v.t
	a := Atlas{t: t, workspace: Workspace{t: t}}
	if err := t.queryRow(`SELECT`+atlasHandleColumns+`FROM atlases a`+t.membershipJoin("a.workspace")+ownerJoin+
		`WHERE a.id = ?2`, []any{v.AtlasID}, a.scanDest()...); err != nil {
		return turn, sqldb.MapNoRows(err)
	}
	if err := acceptSession(&v.Row, &a, ToContinue); err != nil {
		return turn, err
	}
	return v.Turn(t.conn, eventID)
}

// A TokenReservation is a part of the daily tokens of the language model that a call may use.
type TokenReservation struct {
	Tokens int64 // 0: the day has too few left
	DayEnd loci.Time

	day int64
}

// ReserveTokens reserves between least and most of the tokens that all servers have left of the limit of the day (UTC).
func (t *SystemTx) ReserveTokens(limit, least, most int64) (TokenReservation, error) {
	var r TokenReservation
	r.day, r.DayEnd = accountdb.DayOf(t.t.Now())
	if _, err := t.t.exec(`INSERT INTO model_usage (day, tokens) VALUES (?1, 0) ON CONFLICT (day) DO NOTHING`,
		r.day); err != nil {
		return r, err
	}
	var used int64
	if err := t.t.conn.QueryRow(`SELECT u.tokens FROM model_usage u WHERE u.day = ?1`+t.t.conn.LockClause("UPDATE", "u"),
		[]any{r.day}, []any{&used}); err != nil {
		return r, err
	}
	n := min(most, limit-used)
	if n < least {
		return r, nil
	}
	r.Tokens = n
	_, err := t.t.exec(`UPDATE model_usage SET tokens = tokens + ?2 WHERE day = ?1`, r.day, n)
	return r, err
}

// SettleTokens replaces a reservation with the tokens that the call has used.
func (t *SystemTx) SettleTokens(r TokenReservation, used int64) error {
	_, err := t.t.exec(`UPDATE model_usage SET tokens = tokens + ?2 WHERE day = ?1`, r.day, used-r.Tokens)
	return err
}

// ModelUsage returns the tokens of the day (UTC), with those that running calls have reserved.
func (t *SystemTx) ModelUsage() (tokens int64, err error) {
	today, _ := accountdb.DayOf(t.t.Now())
	return tokens, t.t.conn.QueryRow(`SELECT COALESCE(MAX(tokens), 0) FROM model_usage WHERE day = ?1`,
		[]any{today}, []any{&tokens})
}
