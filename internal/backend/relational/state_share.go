package relational

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// A resource that is led is locked by its identity; what is said of its leader is read
// without a lock.

var insertLead = &Insert{
	Head:   "INSERT INTO resource_lead (identity, account_id, run_id)",
	Upsert: Upsert{Key: "identity", Set: "account_id = resource_lead.account_id"},
}

// credential is what stands for an account's credential at its source.
func (r stateReader) credential(ctx context.Context, account int64) (credential string, err error) {
	err = Query(ctx, r.q, func(rows *sql.Rows) error { return rows.Scan(&credential) }, "SELECT credential_hash FROM account WHERE id = ?", account)
	return credential, err
}

// LockLeads implements state.ShareRows.
func (t stateRows) LockLeads(ctx context.Context, account, run int64, resources []string) ([]state.Led, error) {
	mine, err := t.credential(ctx, account)
	if err != nil {
		return nil, err
	}
	var find Statement
	find.Write("SELECT identity, account_id, run_id FROM resource_lead WHERE identity IN (")
	rows, names := make([]Row, len(resources)), make(map[Hash]string, len(resources))
	for i, resource := range resources {
		identity := HashOf(mine, resource)
		names[identity] = resource
		rows[i].Write("(").Hash(identity).Write(",").Ints(account, run).Write(")")
		rows[i].Key = sortKey(0, identity)
		if i > 0 {
			find.Write(",")
		}
		find.Hash(identity)
	}
	if _, err := insertLead.Run(ctx, t.tx, rows); err != nil {
		return nil, err
	}
	find.Write(") ORDER BY identity FOR UPDATE")
	led := make(map[string]state.Led, len(resources))
	err = find.Query(ctx, t.tx, func(r *sql.Rows) error {
		var identity []byte
		var l state.Led
		err := r.Scan(&identity, &l.Account, &l.Run)
		l.Resource = names[Hash(identity)]
		led[l.Resource] = l
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]state.Led, len(resources))
	for i, resource := range resources {
		out[i] = led[resource]
	}
	return out, t.describeLeaders(ctx, mine, out)
}

// describeLeaders adds what the rows of accounts and runs say of leaders: few lead all.
func (t stateRows) describeLeaders(ctx context.Context, mine string, led []state.Led) error {
	type standing struct {
		account domain.Account
		same    bool
	}
	accounts, runs := map[int64]standing{}, map[int64]domain.Leader{}
	for i := range led {
		l := &led[i]
		a, known := accounts[l.Account]
		if !known {
			found, err := t.FindAccount(ctx, l.Account)
			if err != nil {
				return err
			}
			credential, err := t.credential(ctx, l.Account)
			if err != nil {
				return err
			}
			a = standing{found, credential == mine}
			accounts[l.Account] = a
		}
		if _, known := runs[l.Run]; !known {
			run, err := t.leading(ctx, l.Run)
			if err != nil {
				return err
			}
			runs[l.Run] = run
		}
		l.Login, l.State, l.Same = a.account.Login, a.account.State, a.same
		l.Busy, l.Anchor = runs[l.Run].Busy, runs[l.Run].Anchor
	}
	return nil
}

// leading is what a run says of who leads with it: whether it has calls to make, and up
// to when it collects.
func (t stateRows) leading(ctx context.Context, id int64) (l domain.Leader, err error) {
	run, err := t.FindRun(ctx, id)
	if l.Anchor = run.Anchor; err != nil || !run.Status.Active() {
		return l, err
	}
	var find Statement
	find.Write("SELECT id FROM job WHERE run_id = ").Int(id).Write(" AND done = 0 AND bucket <> ").Text(domain.LocalBucket).Write(" LIMIT 1")
	first, err := firstID(ctx, t.tx, &find)
	l.Busy = first != 0
	return l, err
}

// WriteLeads implements state.ShareRows.
func (t stateRows) WriteLeads(ctx context.Context, account, run int64, resources []string) error {
	mine, err := t.credential(ctx, account)
	if err != nil {
		return err
	}
	var set Statement
	set.Write("UPDATE resource_lead SET account_id = ").Int(account).Write(", run_id = ").Int(run).Write(" WHERE identity IN (")
	for i, resource := range resources {
		if i > 0 {
			set.Write(",")
		}
		set.Hash(HashOf(mine, resource))
	}
	_, err = set.Write(")").Exec(ctx, t.tx)
	return err
}

// CursorsOf implements state.Sharing.
func (s *recordStore) CursorsOf(ctx context.Context, account int64, names []string) (map[string]time.Time, error) {
	out := map[string]time.Time{}
	if len(names) == 0 {
		return out, nil
	}
	var find Statement
	find.Write("SELECT resource, at FROM resource_cursor WHERE account_id = ").Int(account).Write(" AND identity IN (")
	for i, name := range names {
		if i > 0 {
			find.Write(",")
		}
		find.Hash(HashOf(name))
	}
	find.Write(")")
	err := s.db.Run(ctx, &find, func(r *sql.Rows) error {
		var resource string
		var at int64
		err := r.Scan(&resource, &at)
		out[resource] = Time(at)
		return err
	})
	return out, err
}

// likely escapes what LIKE would take for a pattern.
var likely = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")

// PagesOf implements state.Sharing.
func (s *recordStore) PagesOf(ctx context.Context, account int64, resource string) (pages []domain.Page, err error) {
	var find Statement
	find.Write("SELECT page_key, etag, next_page, items FROM page WHERE account_id = ").Int(account)
	find.Write(" AND CONCAT(' ', page_key, ' ') LIKE ").Text("% " + likely.Replace(resource) + " %").Write(" ESCAPE '!' ORDER BY page_key")
	err = s.db.Run(ctx, &find, func(r *sql.Rows) error {
		p := domain.Page{AccountID: account}
		err := r.Scan(&p.Key, &p.ETag, &p.Next, &p.Items)
		pages = append(pages, p)
		return err
	})
	return pages, err
}
