package maplestory

import (
	"net/http"
	"net/url"
	"strings"
	"time"
)

// call is one request on its way through the server.
type call struct {
	server *Server
	writer http.ResponseWriter
	req    *http.Request
	number int64
	key    string
	now    time.Time

	limited verdict
	counted bool
	faulty  bool
	gone    bool // the caller hung up before it had its answer

	code   Code
	status int
	buffer *[]byte
	out    []byte

	// What a value was asked of, if one was.
	tells     bool
	part      part
	character int
	change    uint64
}

const keyHeader = "X-Nxopen-Api-Key"

func (s *Server) arrive(w http.ResponseWriter, r *http.Request) *call {
	c := &call{server: s, writer: w, req: r, number: s.requests.Add(1), key: unknownKey, status: http.StatusOK}
	if key := r.Header.Get(keyHeader); s.keys[key] {
		c.key = key
	}
	c.buffer = s.buffers.Get().(*[]byte)
	c.out = (*c.buffer)[:0]
	c.limited, c.now = s.audit.arrived(c.key, s.options.Limits, s.options.Now)
	return c
}

// depart gives back what the call still holds, however it ended.
func (c *call) depart() {
	c.leave()
	*c.buffer = c.out[:0]
	c.server.buffers.Put(c.buffer)
}

func (c *call) leave() {
	if !c.counted {
		c.counted = true
		c.server.audit.answered(c)
	}
}

// fail makes an error the answer, discarding what was rendered so far.
func (c *call) fail(code Code) {
	c.code, c.status = code, code.Status()
	c.out = append(c.out[:0], code.Body()...)
}

// admit applies what holds for every call, whatever it asks.
func (c *call) admit() bool {
	maintenance := Code(c.server.maintenance.Load())
	switch {
	case maintenance == APIMaintenance:
		c.fail(APIMaintenance)
	case c.key == unknownKey:
		c.fail(InvalidKey)
	case c.server.isForbidden(c.key):
		c.fail(Forbidden)
	case c.limited != admitted:
		c.fail(QuotaExceeded)
	case maintenance != OK:
		c.fail(maintenance)
	}
	return c.code == OK
}

const prefix = "/maplestory/v1/"

// answer finds out what is asked and renders it.
func (c *call) answer() {
	path, ok := strings.CutPrefix(c.req.URL.Path, prefix)
	if !ok || c.req.Method != http.MethodGet {
		c.fail(InvalidPath)
		return
	}
	query := c.req.URL.Query()
	if path == "id" {
		c.answerID(query.Get("character_name"))
		return
	}
	name, _ := strings.CutPrefix(path, "character/")
	p, ok := partNamed(name)
	if !ok || name == path {
		c.fail(InvalidPath)
		return
	}
	c.answerPart(p, query)
}

func (c *call) answerID(name string) {
	character, ok := c.server.world.characterNamed(name)
	if !ok {
		c.fail(InvalidParameter)
		return
	}
	c.out = append(c.out, `{"ocid":"`...)
	c.out = append(c.out, c.server.world.ocid(character, c.server.world.generation(character, c.now))...)
	c.out = append(c.out, `"}`...)
}

func (c *call) answerPart(p part, query url.Values) {
	ocid := query.Get("ocid")
	if ocid == "" {
		c.fail(InvalidParameter)
		return
	}
	character, ok := c.server.world.character(ocid, c.now)
	if !ok {
		c.fail(InvalidIdentifier)
		return
	}
	if c.server.preparing.at(entity(p, character), c.now) {
		c.server.audit.injected(FaultPreparing)
		c.fail(BeingPrepared)
		return
	}
	at, shown, code := c.instant(query.Get("date"))
	if code != OK {
		c.fail(code)
		return
	}
	if at.Before(c.server.world.created(character)) {
		c.out = append(append(append(c.out, `{"date":`...), shown...), '}')
		return
	}
	c.tells, c.part, c.character = true, p, character
	c.change = c.server.world.changeCount(p, character, at)
	c.out = c.server.append(c.out, p, character, c.change, shown)
}

// firstDay is the first of which the API has data.
const firstDay = "2023-12-21"

// instant is when the value that is asked for was, and how the answer shows it:
// now without a date, and otherwise the end of that day in Korea. A day's data
// are there one hour after it.
func (c *call) instant(date string) (at time.Time, shown string, code Code) {
	if date == "" {
		return c.now, "null", OK
	}
	day, err := time.ParseInLocation(time.DateOnly, date, korea)
	if err != nil || date < firstDay {
		return at, "", InvalidParameter
	}
	end := day.AddDate(0, 0, 1)
	switch {
	case c.now.Before(end):
		return at, "", InvalidParameter
	case c.now.Before(end.Add(time.Hour)):
		return at, "", BeingPrepared
	}
	return end.Add(-1), `"` + date + `T00:00+09:00"`, OK
}

// created is when a character came into the world: within the first year of
// data, so that there are days without data.
func (w *world) created(character int) time.Time {
	const firstInstant = 1_703_084_400 // firstDay in Korea
	return time.Unix(firstInstant+int64(derive(w.seed, forCreation, uint64(character))%(365*24*60*60)), 0)
}
