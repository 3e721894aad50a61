package httpapi_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	documents "sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	githubsim "sluice/internal/simulator/github"
	"sluice/internal/source/github"
	"sluice/internal/state"
)

// deliver sends what the simulated GitHub tells, as GitHub does.
func (h *hooked) deliver(d githubsim.Delivery, secret string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "http://sluice.example/api/v1/hooks/github", strings.NewReader(string(d.Payload)))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-GitHub-Event", d.Event)
	r.Header.Set("X-GitHub-Delivery", d.ID)
	r.Header.Set("X-Hub-Signature-256", d.Sign(secret))
	w := httptest.NewRecorder()
	h.handler.ServeHTTP(w, r)
	return w
}

// issues are the numbers of an account's stored issues.
func (h *hooked) issues(account int64) map[int64]bool {
	numbers := map[int64]bool{}
	err := h.service.Documents.Scan(h.Context(), documents.Query{Account: account, Kind: github.KindIssue}, func(d *documents.Document) error {
		numbers[d.Number] = true
		return nil
	})
	if err != nil {
		h.Fatal(err)
	}
	return numbers
}

// TestDeliveriesAreTakenIn sends what GitHub tells of a change: forged, it changes
// nothing; genuine, it is answered with 202, stored without a call, and once however
// often it comes.
func TestDeliveriesAreTakenIn(t *testing.T) {
	h := newHooked(t, hookSecret)
	who := h.service.Signup(0)
	a, first, err := h.service.Engine.Signup(t.Context(), who)
	if err != nil {
		t.Fatal(err)
	}
	h.service.Wait(t, first.ID)
	var told []githubsim.Delivery
	h.service.GitHub.OnDelivery("https://api.github.com", func(d githubsim.Delivery) { told = append(told, d) })
	repo := h.service.GitHub.Repos(who.Login)[0]
	number, err := h.service.GitHub.OpenIssue(repo)
	if err != nil {
		t.Fatal(err)
	}
	before, calls := h.issues(a.ID), h.service.GitHub.Audit().Calls
	if len(told) != 1 {
		t.Fatalf("GitHub told %d times", len(told))
	}
	if w := h.deliver(told[0], "a stranger's"); w.Code != http.StatusUnauthorized {
		t.Errorf("forged: %d %s", w.Code, w.Body)
	}
	active, err := h.service.State.Runs(t.Context(), state.RunQuery{AccountID: a.ID, ActiveOnly: true})
	if err != nil || len(active) != 0 || len(h.issues(a.ID)) != len(before) {
		t.Errorf("forged, it left %+v, %v", active, err)
	}
	var runs []string
	for range 3 {
		w := h.deliver(told[0], hookSecret)
		if w.Code != http.StatusAccepted {
			t.Fatalf("genuine: %d %s", w.Code, w.Body)
		}
		var answer wire.HookAnswer
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			t.Fatal(err)
		}
		if len(answer.Runs) != 1 || answer.Runs[0].AccountID != a.ID {
			t.Fatalf("genuine: %+v", answer)
		}
		runs = append(runs, strconv.FormatInt(answer.Runs[0].ID, 10))
		if ended := h.service.Wait(t, answer.Runs[0].ID); ended.Status != domain.RunCompleted || ended.Succeeded != 1 {
			t.Errorf("its run ended as %+v", ended)
		}
	}
	if runs[1] != runs[0] || runs[2] != runs[0] {
		t.Errorf("the same delivery went into the runs %v", runs)
	}
	if after := h.issues(a.ID); len(after) != len(before)+1 || !after[int64(number)] {
		t.Errorf("issues %v, were %v", after, before)
	}
	if made := h.service.GitHub.Audit().Calls - calls; made != 0 {
		t.Errorf("%d calls were made", made)
	}
}
