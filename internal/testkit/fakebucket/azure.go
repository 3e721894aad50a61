package fakebucket

import (
	"cmp"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// azureAccount is whose container there is.
const azureAccount = "sluicetest"

// azure keeps blobs in memory.
type azure struct {
	mu sync.Mutex
	// blobs and blocks are by their names; blocks wait to be put together.
	blobs, blocks map[string][]byte
}

// StartAzure starts a server that ends with the test, lets the test's own
// process have its keys, and returns the container's address as an archive's.
func StartAzure(t testing.TB) (place string) {
	t.Helper()
	a := &azure{blobs: map[string][]byte{}, blocks: map[string][]byte{}}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	for name, value := range map[string]string{
		"AZURE_STORAGE_ACCOUNT": azureAccount, "AZURE_STORAGE_KEY": base64.StdEncoding.EncodeToString([]byte(Secret)),
		"AZURE_STORAGE_DOMAIN": strings.TrimPrefix(server.URL, "http://"), "AZURE_STORAGE_PROTOCOL": "http",
		"AZURE_STORAGE_SAS_TOKEN": "", "AZURE_STORAGE_CONNECTION_STRING": "", "AZURE_STORAGEBLOB_CONNECTIONSTRING": "",
	} {
		t.Setenv(name, value)
	}
	return "azblob://" + Name
}

// ServeHTTP implements http.Handler.
func (a *azure) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	name, ours := strings.CutPrefix(r.URL.Path, "/"+azureAccount+"/"+Name)
	name = strings.TrimPrefix(name, "/")
	switch {
	case !strings.HasPrefix(r.Header.Get("Authorization"), "SharedKey "+azureAccount+":"):
		refuse(w, http.StatusForbidden, "AuthenticationFailed")
	case !ours:
		refuse(w, http.StatusNotFound, "ContainerNotFound")
	case name == "":
		a.list(w, r)
	case r.Method == http.MethodPut:
		a.put(w, r, name)
	default:
		a.serve(w, r, name)
	}
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("x-ms-error-code", code)
	w.WriteHeader(status)
}

// put keeps a blob, a block of one, or puts one together of its blocks.
func (a *azure) put(w http.ResponseWriter, r *http.Request, name string) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		refuse(w, http.StatusBadRequest, "InvalidInput")
		return
	}
	switch r.URL.Query().Get("comp") {
	case "":
		a.blobs[name] = data
	case "block":
		a.blocks[name+" "+r.URL.Query().Get("blockid")] = data
	case "blocklist":
		var list struct {
			Latest []string `xml:"Latest"`
		}
		if err := xml.Unmarshal(data, &list); err != nil {
			refuse(w, http.StatusBadRequest, "InvalidXmlDocument")
			return
		}
		var whole []byte
		for _, id := range list.Latest {
			whole = append(whole, a.blocks[name+" "+id]...)
		}
		a.blobs[name] = whole
	}
	w.WriteHeader(http.StatusCreated)
}

// serve reads or removes a blob.
func (a *azure) serve(w http.ResponseWriter, r *http.Request, name string) {
	data, ok := a.blobs[name]
	if !ok {
		refuse(w, http.StatusNotFound, "BlobNotFound")
		return
	}
	w.Header().Set("Etag", `"0x1"`)
	w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
	switch r.Method {
	case http.MethodDelete:
		delete(a.blobs, name)
		w.WriteHeader(http.StatusAccepted)
	case http.MethodHead:
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	default:
		status, from := http.StatusOK, 0
		if _, err := fmt.Sscanf(cmp.Or(r.Header.Get("x-ms-range"), r.Header.Get("Range")), "bytes=%d-", &from); err == nil && from < len(data) {
			status = http.StatusPartialContent
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(data)-1, len(data)))
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(data)-from))
		w.WriteHeader(status)
		_, _ = w.Write(data[from:]) // A reader that went away gets no more.
	}
}

// list answers with a page of blobs whose names begin in a certain way.
func (a *azure) list(w http.ResponseWriter, r *http.Request) {
	type blob struct {
		Name string
		Size int    `xml:"Properties>Content-Length"`
		At   string `xml:"Properties>Last-Modified"`
		Tag  string `xml:"Properties>Etag"`
	}
	var page struct {
		XMLName xml.Name `xml:"EnumerationResults"`
		Blobs   []blob   `xml:"Blobs>Blob"`
		Next    string   `xml:"NextMarker"`
	}
	q := r.URL.Query()
	most, err := strconv.Atoi(q.Get("maxresults"))
	if err != nil {
		most = 5000
	}
	for _, name := range slices.Sorted(maps.Keys(a.blobs)) {
		if !strings.HasPrefix(name, q.Get("prefix")) || name < q.Get("marker") {
			continue
		}
		if len(page.Blobs) == most {
			page.Next = name
			break
		}
		page.Blobs = append(page.Blobs, blob{name, len(a.blobs[name]), time.Now().UTC().Format(http.TimeFormat), "0x1"})
	}
	w.Header().Set("Content-Type", "application/xml")
	// A reader that went away gets no more.
	_ = xml.NewEncoder(w).Encode(page)
}
