package httpapi_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/archive"
	"sluice/internal/backend/sqlite"
	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/httpapi"
	"sluice/internal/httpapi/wire"
	"sluice/internal/refresh"
	"sluice/internal/testkit/fakebucket"
)

// entities checks keys and does nothing else.
type entities struct{ httpapi.Refreshes }

func (entities) CheckEntity(e refresh.Entity) (refresh.Entity, error) {
	if strings.Contains(e.Key, " ") {
		return e, domain.Errorf(domain.CodeInvalid, "a key has no spaces")
	}
	e.Key = strings.ToLower(e.Key)
	return e, nil
}

// archived is the API on a real archive of a real store, and a client of it.
type archived struct {
	*testing.T
	*client.Client
	url    string
	store  *sqlite.Snapshots
	bucket archive.Files
	// days are those on which values were stored, the last one too lately.
	days []string
}

// archivedKeys is of how many entities a value was stored each day.
const archivedKeys = 3

func newArchived(t *testing.T) *archived {
	t.Helper()
	a := &archived{T: t, bucket: fakebucket.NewMemory()}
	db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir(), Holder: "a test"})
	a.must(err)
	a.store, err = sqlite.NewSnapshots(db, refresh.TierOptions{})
	a.must(err)
	noon := time.Now().UTC().Truncate(24 * time.Hour).Add(12 * time.Hour)
	for version, age := range []int{200, 41, 40, 1} {
		at := noon.AddDate(0, 0, -age)
		a.days = append(a.days, at.Format(time.DateOnly))
		var batch []refresh.Refreshed
		for key := range archivedKeys {
			body := fmt.Appendf(nil, `{"level":%d}`, 10*version+key)
			batch = append(batch, refresh.Refreshed{
				Entity: refresh.Entity{Source: "game", Key: fmt.Sprint("k", key)}, Version: int64(version + 1), At: at, Body: body, Hash: sha256.Sum256(body),
			})
		}
		_, err := a.store.Save(t.Context(), batch)
		a.must(err)
	}
	archiver, err := archive.New(a.store, a.bucket, archive.Options{})
	a.must(err)
	deps := newFake().deps()
	deps.Refreshes, deps.Archive = storedEntities{store: a.store}, archiver
	server := httptest.NewServer(httpapi.New(deps, httpapi.Options{}))
	t.Cleanup(func() {
		server.Close()
		a.must(db.Close())
	})
	a.url = server.URL
	a.Client, err = client.New(server.URL, "", nil)
	a.must(err)
	return a
}

func (a *archived) must(err error) {
	a.Helper()
	if err != nil {
		a.Fatal(err)
	}
}

// stored counts the values in the store.
func (a *archived) stored() int {
	a.Helper()
	values, _, err := a.store.Values(a.Context(), time.Now(), "", 1000)
	a.must(err)
	return len(values)
}

func TestArchive(t *testing.T) {
	a := newArchived(t)
	done, err := a.RunArchive(t.Context())
	a.must(err)
	if done.Archived.Values != 3*archivedKeys || done.Archived.Files != 3 || done.Cooled.Files != 1 || a.stored() != archivedKeys {
		t.Fatalf("archiving did %+v and left %d values", done, a.stored())
	}
	all, err := a.Archived(t.Context(), "", "", "", client.Page{})
	a.must(err)
	some, err := a.Archived(t.Context(), "game", a.days[1], a.days[1], client.Page{})
	a.must(err)
	if len(all.Items) != 3 || len(some.Items) != 1 || some.Items[0] != all.Items[1] {
		t.Fatalf("listed %+v and of one day %+v", all, some)
	}
	for i, d := range all.Items {
		cold := map[int]int64{0: 1}[i]
		if d.Bytes == 0 || (d != wire.ArchiveDay{Day: a.days[i], Source: "game", Files: 1, ColdFiles: cold, Rows: archivedKeys, Bytes: d.Bytes}) {
			t.Errorf("listed %+v", d)
		}
	}
	checked, err := a.VerifyArchive(t.Context(), wire.ArchiveVerifyRequest{})
	a.must(err)
	if checked.Files != 3 || checked.Rows != 3*archivedKeys || checked.Bytes == 0 || checked.DamagedFiles != 0 {
		t.Errorf("verifying found %+v", checked)
	}
	back, err := a.RestoreArchive(t.Context(), wire.ArchiveRestoreRequest{Source: "game", Key: "K1"})
	a.must(err)
	if back.Values != 3 || a.stored() != archivedKeys+3 {
		t.Errorf("put %d values back; there are %d", back.Values, a.stored())
	}
	back, err = a.RestoreArchive(t.Context(), wire.ArchiveRestoreRequest{From: a.days[1], To: a.days[2]})
	a.must(err)
	if back.Values != 2*archivedKeys || a.stored() != 3*archivedKeys+1 {
		t.Errorf("put %d values back; there are %d", back.Values, a.stored())
	}
	done, err = a.RunArchive(t.Context())
	a.must(err)
	if done.Archived.Known != 2*archivedKeys+1 || done.Archived.Files != 0 || a.stored() != archivedKeys {
		t.Errorf("archiving what was put back did %+v", done)
	}
}

func TestArchivedValuesAreWrittenOut(t *testing.T) {
	a := newArchived(t)
	_, err := a.RunArchive(t.Context())
	a.must(err)
	var out bytes.Buffer
	n, err := a.ExportArchive(t.Context(), wire.ArchiveRestoreRequest{Source: "game", Key: "K1", From: a.days[1]}, &out)
	a.must(err)
	for i, text := range []string{`"level":11`, `"level":21`} {
		if lines := strings.Split(strings.TrimSpace(out.String()), "\n"); n != 2 || len(lines) != 2 || !strings.Contains(lines[i], text) {
			t.Fatalf("%d values:\n%s", n, &out)
		}
	}
	out.Reset()
	if n, err := a.ExportArchive(t.Context(), wire.ArchiveRestoreRequest{From: a.days[3]}, &out); n != 0 || err != nil || out.Len() != 0 {
		t.Errorf("of a day that is not archived %d values: %s, %v", n, &out, err)
	}
}

func TestDamagedArchive(t *testing.T) {
	a := newArchived(t)
	_, err := a.RunArchive(t.Context())
	a.must(err)
	var file archive.Object
	for o, err := range a.bucket.List(t.Context(), "history/") {
		a.must(err)
		file = o
		break
	}
	data, err := a.bucket.Read(t.Context(), file.Key)
	a.must(err)
	data[len(data)/2] ^= 1
	a.must(a.bucket.Write(t.Context(), file.Key, data))
	for days, damaged := range map[string]int64{"": 1, a.days[1]: 1, a.days[2]: 0, a.days[2] + " " + a.days[1]: 1} {
		checked, err := a.VerifyArchive(t.Context(), wire.ArchiveVerifyRequest{Days: strings.Fields(days)})
		a.must(err)
		if checked.DamagedFiles != damaged || len(checked.Damaged) != int(damaged) || damaged > 0 && checked.Damaged[0].Key != file.Key {
			t.Errorf("verifying %q found %+v", days, checked)
		}
	}
	stored := a.stored()
	if _, err := a.RestoreArchive(t.Context(), wire.ArchiveRestoreRequest{From: a.days[1], To: a.days[1]}); domain.CodeOf(err) != domain.CodeCorrupt || a.stored() != stored {
		t.Errorf("restoring ended with %v, and there are %d values", err, a.stored())
	}
	var out bytes.Buffer
	if _, err := a.ExportArchive(t.Context(), wire.ArchiveRestoreRequest{From: a.days[1], To: a.days[1]}, &out); domain.CodeOf(err) != domain.CodeCorrupt || out.Len() != 0 {
		t.Errorf("writing out ended with %v after %s", err, &out)
	}
}

// archiveRoutes are those of the archive, with a body that is in order.
var archiveRoutes = map[string]string{
	"GET /api/v1/archive": "", "GET /api/v1/archive/values": "", "POST /api/v1/archive/run": "",
	"POST /api/v1/archive/verify": `{"days":["2026-10-16"]}`, "POST /api/v1/archive/restore": `{"from":"2026-10-16"}`,
}

// askArchive makes a request and returns the problem.
func askArchive(t *testing.T, h http.Handler, route, body string, status int) wire.Problem {
	t.Helper()
	method, path, _ := strings.Cut(route, " ")
	r := httptest.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var p wire.Problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("%s: %v in %s", route, err, w.Body)
	}
	if w.Code != status {
		t.Errorf("%s %s: got %d %+v, want %d", route, body, w.Code, p, status)
	}
	return p
}

func TestWithoutAnArchive(t *testing.T) {
	h := httpapi.New(newFake().deps(), httpapi.Options{})
	for route, body := range archiveRoutes {
		if p := askArchive(t, h, route, body, http.StatusNotFound); p.Code != domain.CodeNotFound || !strings.Contains(p.Detail, "--archive") {
			t.Errorf("%s: got %+v", route, p)
		}
	}
}

func TestArchiveRefuses(t *testing.T) {
	deps := newFake().deps()
	deps.Refreshes, deps.Archive = entities{}, &slowArchive{}
	h := httpapi.New(deps, httpapi.Options{})
	for _, c := range []struct{ route, body, says string }{
		{"GET /api/v1/archive?from=16.10.2026", "", "such as 2026-10-16"},
		{"GET /api/v1/archive?from=2026-10-17&to=2026-10-16", "", "until must be later"},
		{"GET /api/v1/archive/values?key=k", "", "needs the name of its source"},
		{"GET /api/v1/archive/values?source=game&key=a+b", "", "no spaces"},
		{"POST /api/v1/archive/verify", `{"days":["2026-10-16","monday"]}`, "such as 2026-10-16"},
		{"POST /api/v1/archive/verify", `{"day":"2026-10-16"}`, ""},
		{"POST /api/v1/archive/restore", `{}`, "name what to put back"},
		{"POST /api/v1/archive/restore", `{"key":"k"}`, "needs the name of its source"},
		{"POST /api/v1/archive/restore", `{"to":"2026-13-01"}`, "such as 2026-10-16"},
	} {
		p := askArchive(t, h, c.route, c.body, http.StatusUnprocessableEntity)
		if p.Code != domain.CodeInvalid || !strings.Contains(p.Detail, c.says) {
			t.Errorf("%s %s: got %+v", c.route, c.body, p)
		}
	}
}

func TestOpenAPIDescribesTheArchive(t *testing.T) {
	deps := newFake().deps()
	deps.Refreshes, deps.Archive = entities{}, &slowArchive{}
	var doc document
	if err := json.Unmarshal(ask(httpapi.New(deps, httpapi.Options{}), http.MethodGet, "http://localhost/api/openapi.json").Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	for route := range archiveRoutes {
		method, path, _ := strings.Cut(route, " ")
		if responses := doc.Paths[path][strings.ToLower(method)].Responses; len(responses) < 3 {
			t.Errorf("%s documents only %v", route, responses)
		}
	}
	if _, ok := doc.Components.Schemas["ArchiveVerified"].Properties["damaged"]; !ok {
		t.Error("what verifying finds is not described")
	}
}

// slowArchive verifies for as long as a test says, or until it is told to end.
type slowArchive struct {
	httpapi.Archive
	takes   time.Duration
	begun   chan struct{}
	endedBy error
}

func (s *slowArchive) Verify(ctx context.Context, _ archive.Query) (archive.Checked, error) {
	if s.begun != nil {
		close(s.begun)
	}
	select {
	case <-time.After(s.takes):
		return archive.Checked{Files: 7}, nil
	case <-ctx.Done():
		s.endedBy = ctx.Err()
		return archive.Checked{}, ctx.Err()
	}
}

// verify asks for it and returns the stream.
func (s *slowArchive) verify(ctx context.Context, deps httpapi.Deps) string {
	deps.Refreshes, deps.Archive = entities{}, s
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/api/v1/archive/verify", strings.NewReader("{}"))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	httpapi.New(deps, httpapi.Options{}).ServeHTTP(w, r)
	return w.Body.String()
}

// TestALongTaskStaysAlive: for longer than any other request may take.
func TestALongTaskStaysAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &slowArchive{takes: 10*wire.Heartbeat + time.Second}
		text := slow.verify(t.Context(), newFake().deps())
		if strings.Count(text, ": heartbeat\n") != 10 || !strings.Contains(text, "event: done\ndata: {\"files\":7,") {
			t.Errorf("got %s", text)
		}
	})
}

func TestATaskEndsWithTheService(t *testing.T) {
	f := newFake()
	slow := &slowArchive{takes: time.Hour, begun: make(chan struct{})}
	go func() {
		<-slow.begun
		f.lifecycle.Stopping()
	}()
	if text := slow.verify(t.Context(), f.deps()); !strings.Contains(text, "event: error\n") || !strings.Contains(text, "the service is stopping") {
		t.Errorf("got %s", text)
	}
}

func TestATaskEndsWithItsCaller(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	slow := &slowArchive{takes: time.Hour, begun: make(chan struct{})}
	go func() {
		<-slow.begun
		cancel()
	}()
	if text := slow.verify(ctx, newFake().deps()); slow.endedBy == nil || strings.Contains(text, "stopping") {
		t.Errorf("it ended by %v with %s", slow.endedBy, text)
	}
}

// TestManyDamagedFiles: an answer does not name them all, but counts them.
func TestManyDamagedFiles(t *testing.T) {
	deps := newFake().deps()
	deps.Refreshes, deps.Archive = entities{}, ruins{}
	server := httptest.NewServer(httpapi.New(deps, httpapi.Options{}))
	defer server.Close()
	c, err := client.New(server.URL, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	found, err := c.VerifyArchive(t.Context(), wire.ArchiveVerifyRequest{Days: []string{"2026-10-16", "2026-10-17"}})
	if err != nil || found.DamagedFiles != 1600 || len(found.Damaged) != 1000 {
		t.Errorf("%d damaged files of which %d are named: %v", found.DamagedFiles, len(found.Damaged), err)
	}
}

// ruins has damaged files alone.
type ruins struct{ httpapi.Archive }

func (ruins) Verify(context.Context, archive.Query) (archive.Checked, error) {
	return archive.Checked{Files: 800, Damaged: slices.Repeat([]archive.Damage{{Error: "it is damaged"}}, 800)}, nil
}
