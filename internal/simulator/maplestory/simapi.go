package maplestory

import (
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// serveSim answers the simulator's own endpoints, which need no key and cost
// nothing:
//
//	GET  /_sim/audit
//	GET  /_sim/characters?from=&limit=      names and ocids
//	GET  /_sim/truth/{part}/{ocid}?at=      hash and size; with &value=1 the value
//	POST /_sim/change?key=                  the value of a key becomes another
//	POST /_sim/renew?ocid=                  the character gets a new ocid
//	POST /_sim/maintenance?mode=            game, api, preparing or none
//	POST /_sim/slow?by=                     delay every answer by a duration
//	POST /_sim/preparing?key=&for=          a key is being prepared; without for until…
//	POST /_sim/ready                        …nothing is being prepared any more
//	POST /_sim/faults                       script a fault (see FaultOrder)
//	POST /_sim/faults/clear                 forget what was scripted
//	GET  /_sim/nasty                        the mode; POST changes the members it is given
//	POST /_sim/reset                        forget the audit
//
// The truth of an ocid that was renewed is a 404 that names its successor.
func (s *Server) serveSim(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/_sim/")
	truth, isTruth := strings.CutPrefix(path, "truth/")
	switch {
	case r.Method == http.MethodPost && (path == "nasty" || path == "faults"):
		s.serveFaults(w, r, path)
	case r.Method == http.MethodPost:
		s.serveOrder(w, r, path)
	case path == "nasty":
		writeJSON(w, http.StatusOK, s.Nasty())
	case isTruth:
		s.serveTruth(w, r, truth)
	case path == "audit":
		writeJSON(w, http.StatusOK, s.Audit())
	case path == "characters":
		from, _ := strconv.Atoi(r.URL.Query().Get("from")) // the beginning, if it cannot be read
		limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
		if err != nil {
			limit = s.options.Characters
		}
		writeJSON(w, http.StatusOK, s.Characters(from, limit))
	default:
		refuse(w, http.StatusNotFound, "there is no such endpoint")
	}
}

// serveOrder does what a POST asks for.
func (s *Server) serveOrder(w http.ResponseWriter, r *http.Request, path string) {
	query, done := r.URL.Query(), true
	switch path {
	case "change":
		done = s.Change(query.Get("key"))
	case "renew":
		done = s.Renew(query.Get("ocid"))
	case "maintenance":
		var code Code
		if code, done = maintenanceModes[query.Get("mode")]; done {
			s.SetMaintenance(code)
		}
	case "slow":
		by, err := time.ParseDuration(query.Get("by"))
		if done = err == nil; done {
			s.SetSlow(by)
		}
	case "preparing":
		done = s.orderPreparing(query.Get("key"), query.Get("for"))
	case "ready":
		s.EndPreparing()
	case "faults/clear":
		s.ClearHooks()
	case "reset":
		s.ResetAudit()
	default:
		done = false
	}
	if !done {
		refuse(w, http.StatusNotFound, "there is nothing that could be so ordered")
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

var maintenanceModes = map[string]Code{
	"none": OK, "game": GameMaintenance, "api": APIMaintenance, "preparing": BeingPrepared,
}

func (s *Server) serveTruth(w http.ResponseWriter, r *http.Request, what string) {
	name, ocid, _ := strings.Cut(what, "/")
	var at time.Time
	if text := r.URL.Query().Get("at"); text != "" {
		parsed, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			refuse(w, http.StatusBadRequest, "at must be an RFC 3339 time")
			return
		}
		at = parsed
	}
	truth, ok := s.Truth(name+":"+ocid, at)
	successor, renewed := s.Successor(ocid)
	switch {
	case !ok && renewed:
		writeJSON(w, http.StatusNotFound, map[string]string{"message": "the ocid was renewed", "gone": "renewed", "ocid": successor})
	case !ok:
		refuse(w, http.StatusNotFound, "there is no such part or ocid")
	case r.URL.Query().Get("value") != "":
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = w.Write(truth.Value) // a caller that hung up gets nothing
	default:
		writeJSON(w, http.StatusOK, map[string]any{
			"hash": hex.EncodeToString(truth.Hash[:]), "size": len(truth.Value), "change": truth.Change,
		})
	}
}

func refuse(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, map[string]string{"message": message})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // a caller that hung up gets nothing
}
