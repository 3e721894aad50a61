package maplestory

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// FaultOrder is a scripted fault in words, for those who ask over HTTP.
type FaultOrder struct {
	// Path and Ocid select calls; empty members match everything.
	Path string `json:"path,omitempty"`
	Ocid string `json:"ocid,omitempty"`
	// Times is how often it happens, -1 for ever; default once.
	Times int `json:"times,omitempty"`

	// Kind is one of the kinds of faults; what else a kind needs follows. Without
	// a kind the members are taken as they are.
	Kind   string   `json:"kind,omitempty"`
	Status int      `json:"status,omitempty"`
	Body   string   `json:"body,omitempty"`
	Delay  Duration `json:"delay,omitempty"`
	Slow   Duration `json:"slow,omitempty"`
	Pad    int      `json:"pad,omitempty"`
}

// Script adds the fault that an order describes.
func (s *Server) Script(o FaultOrder) error {
	fault, ok := o.fault()
	if !ok {
		return fmt.Errorf("%q with status %d is not a fault", o.Kind, o.Status)
	}
	times := o.Times
	if times == 0 {
		times = 1
	}
	s.FailNext(func(r *http.Request) bool {
		return strings.Contains(r.URL.Path, o.Path) && (o.Ocid == "" || ForOcid(o.Ocid)(r))
	}, times, fault)
	return nil
}

func (o *FaultOrder) fault() (Fault, bool) {
	switch o.Kind {
	case "":
		f := Fault{Status: o.Status, Body: o.Body, Delay: time.Duration(o.Delay), Slow: time.Duration(o.Slow), Pad: o.Pad}
		return f, f.Status != 0 || f.Delay != 0 || f.Slow != 0 || f.Pad != 0
	case FaultPreparing:
		return Failure(BeingPrepared), true
	case FaultDelayed:
		return Delayed(time.Duration(o.Delay)), true
	case FaultSlow:
		return SlowBody(time.Duration(o.Slow)), true
	case FaultHuge:
		return HugeBody(max(o.Pad, 8<<20)), true
	case FaultHTMLPage:
		return HTMLErrorPage(max(o.Status, http.StatusBadGateway)), true
	case FaultGameMaintenance, FaultAPIMaintenance, FaultQuota, FaultInternal, FaultMalformed, FaultTruncated, FaultReset, FaultCut:
		return drawFault(Nasty{}.withDefaults(), &draws{}, o.Kind), true
	}
	return Fault{}, false
}

// serveFaults reads an order that is JSON.
func (s *Server) serveFaults(w http.ResponseWriter, r *http.Request, path string) {
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20))
	decoder.DisallowUnknownFields()
	var err error
	if path == "nasty" {
		mode := s.Nasty()
		if err = decoder.Decode(&mode); err == nil {
			err = s.SetNasty(mode)
		}
	} else {
		var order FaultOrder
		if err = decoder.Decode(&order); err == nil {
			err = s.Script(order)
		}
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) orderPreparing(key, span string) bool {
	if span == "" {
		return s.SetPreparing(key, time.Time{})
	}
	d, err := time.ParseDuration(span)
	return err == nil && s.SetPreparing(key, s.options.Now().Add(d))
}
