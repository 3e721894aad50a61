package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"sluice/internal/access"
	"sluice/internal/catalogue"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
)

const shopFile = `source: shop
base: https://shop.example/v1
auth: bearer
ration: {all: {per: key, calls: 60, every: 1m, shape: sliding}}
streams:
  orders: {get: /orders, key: id}
`

func addition(t *testing.T, file string) string {
	t.Helper()
	text, err := json.Marshal(catalogue.Addition{File: file})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestSources: who may look looks and checks, an admin adds and removes, and both stand
// in the audit log with where the source is.
func TestSources(t *testing.T) {
	g := newGuests(t)
	const path = "/api/v1/sources"
	g.as(g.secrets[access.Read])
	var list wire.SourceList
	g.do(http.MethodGet, path, "", http.StatusOK, &list)
	if len(list.Items) < 2 || list.Items[0].Origin != catalogue.BuiltIn {
		t.Errorf("there are %+v", list)
	}
	var checked catalogue.Checked
	g.do(http.MethodPost, path+"/check", `{"file":"source: x\nstreems: 1\n"}`, http.StatusOK, &checked)
	if checked.Valid || len(checked.Mistakes) == 0 || checked.Mistakes[0].Line == 0 {
		t.Errorf("checked is %+v", checked)
	}
	for _, role := range []access.Role{access.Read, access.Operate} {
		g.as(g.secrets[role])
		g.refused(http.MethodPost, path, addition(t, shopFile), http.StatusForbidden, domain.CodeUnauthorized)
		g.refused(http.MethodDelete, path+"/shop", "", http.StatusForbidden, domain.CodeUnauthorized)
	}
	g.as(g.secrets[access.Read])
	g.refused(http.MethodPost, path+"/shop/probe", `{}`, http.StatusForbidden, domain.CodeUnauthorized)
	g.as(g.secrets[access.Admin])
	var added wire.SourceAnswer
	g.do(http.MethodPost, path, addition(t, shopFile), http.StatusCreated, &added)
	if !added.New || added.File != shopFile || added.Plan == nil || added.Streams[0].Table != "shop_orders" {
		t.Errorf("added is %+v", added)
	}
	g.do(http.MethodPost, path, addition(t, shopFile), http.StatusOK, &added)
	if added.New {
		t.Error("the same is new again")
	}
	g.refused(http.MethodPost, path, addition(t, strings.Replace(shopFile, "shop", "github", 1)), http.StatusConflict, domain.CodeConflict)
	g.refused(http.MethodPost, path, addition(t, "source: x"), http.StatusUnprocessableEntity, domain.CodeInvalid)
	g.refused(http.MethodPost, path, addition(t, strings.Repeat("a", 300<<10)), http.StatusUnprocessableEntity, domain.CodeInvalid)
	g.refused(http.MethodPost, path+"/shop/probe", `{}`, http.StatusConflict, domain.CodeConflict)
	g.refused(http.MethodDelete, path+"/gitlab", "", http.StatusConflict, domain.CodeConflict)
	var got catalogue.Detail
	g.do(http.MethodGet, path+"/shop", "", http.StatusOK, &got)
	if got.File != shopFile || got.Version != added.Version {
		t.Errorf("there is %+v", got)
	}
	g.do(http.MethodDelete, path+"/shop", "", http.StatusNoContent, nil)
	g.refused(http.MethodGet, path+"/shop", "", http.StatusNotFound, domain.CodeNotFound)
	var audit wire.AuditList
	g.do(http.MethodGet, "/api/v1/audit", "", http.StatusOK, &audit)
	told := ""
	for _, e := range audit.Items {
		told += e.Action + " " + e.Target + "\n"
	}
	if !strings.Contains(told, "add-source /api/v1/sources shop version "+added.Version+" at https://shop.example/v1") ||
		!strings.Contains(told, "remove-source /api/v1/sources/shop") || strings.Contains(told, "check-source") {
		t.Errorf("the audit log says\n%s", told)
	}
}
