package httpapi_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"sluice/internal/access"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
)

// TestSQL: who may read may ask; nobody reads what is secret, and what only reads is
// no change for the audit log.
func TestSQL(t *testing.T) {
	g := newGuests(t)
	who := g.service.Signup(0)
	g.wait(g.signup("github", who.Login, who.Token, http.StatusCreated).Run.ID)
	g.as(g.secrets[access.Read])
	const path = "/api/v1/sql"
	var answer wire.SQLAnswer
	g.do(http.MethodPost, path, `{"query":"SELECT account, count(*) AS n, max(id) > 0 AS some FROM repositories GROUP BY account"}`, http.StatusOK, &answer)
	if len(answer.Rows) != 1 || string(answer.Rows[0][0]) != `"`+who.Login+`"` || string(answer.Rows[0][1]) != "2" || !slices.Equal(answer.Columns, []string{"account", "n", "some"}) || answer.More {
		t.Errorf("the answer is %+v", answer)
	}
	g.do(http.MethodPost, path, `{"query":"SELECT id FROM commits","limit":1}`, http.StatusOK, &answer)
	if len(answer.Rows) != 1 || !answer.More {
		t.Errorf("one of several is %+v", answer)
	}
	g.do(http.MethodPost, path, `{"query":"SELECT id FROM commits WHERE 0"}`, http.StatusOK, &answer)
	if answer.Rows == nil || len(answer.Rows) != 0 {
		t.Errorf("none is %+v", answer)
	}
	for body, says := range map[string]string{
		`{"query":"SELECT credential FROM account"}`:                                "account cannot be read",
		`{"query":"SELECT * FROM api_token"}`:                                       "api_token cannot be read",
		`{"query":"SELECT prefix FROM api_token"}`:                                  "cannot be read",
		`{"query":"SELECT count(*) FROM audit_entry"}`:                              "cannot be read",
		`{"query":"DELETE FROM commits"}`:                                           "view",
		`{"query":"SELECT *\nFROM comits"}`:                                         "line 2, column 6",
		`{"query":"SELECT 1","limit":100001}`:                                       "limit",
		`{"query":""}`:                                                              "query",
		`{"query":"SELECT 1","querry":"x"}`:                                         "querry",
		`{"query":"WITH commits AS (SELECT * FROM account) SELECT * FROM commits"}`: "cannot be read",
	} {
		p := g.refused(http.MethodPost, path, body, http.StatusUnprocessableEntity, domain.CodeInvalid)
		said := p.Detail
		for _, e := range p.Errors {
			said += " " + e.Location + " " + e.Message
		}
		if !strings.Contains(said, says) {
			t.Errorf("%s: it says %q, not %q", body, said, says)
		}
	}
	g.as(g.secrets[access.Admin])
	var entries wire.List[access.Entry]
	g.do(http.MethodGet, "/api/v1/audit?action=query-sql", "", http.StatusOK, &entries)
	if len(entries.Items) != 0 {
		t.Errorf("the audit log has %+v", entries.Items)
	}
}
