// Package fleet tells what an installation consists of: the processes that serve it,
// and the databases and servers that they work with.
//
// No process reports by itself: an idle installation stays idle. Who wants to know
// calls the roll, and whoever hears it answers.
package fleet

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Process is one process of an installation.
type Process struct {
	// ID tells processes apart, also two lives on one machine.
	ID      string `json:"id"`
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	Version string `json:"version"`
	// Roles are what it does.
	Roles []string `json:"roles"`
	// Address is where it serves; "" if it does not yet.
	Address   string    `json:"address,omitempty"`
	StartedAt time.Time `json:"started_at"`
	// Leads says that it is the scheduler of all.
	Leads bool `json:"leads"`
	// Here says that it is the one that was asked.
	Here bool `json:"here"`
	// Answers says that it answered just now, and AnsweredAt when it last did, by
	// its own clock.
	Answers    bool      `json:"answers"`
	AnsweredAt time.Time `json:"answered_at"`
}

// Roll knows the processes of an installation.
type Roll interface {
	// Processes asks all of them to answer, and waits for a moment. One that was known
	// and does not answer is in the list for a day.
	Processes(ctx context.Context) ([]Process, error)
}

// Alone is the roll of a process that has no others beside it.
func Alone(self func() Process) Roll { return alone(self) }

type alone func() Process

// Processes implements Roll.
func (a alone) Processes(context.Context) ([]Process, error) {
	p := a()
	p.Here, p.Answers, p.Leads = true, true, true
	return []Process{p}, nil
}

// Sort puts processes in the order in which they are shown: those that answer first,
// then by machine and age.
func Sort(all []Process) {
	slices.SortFunc(all, func(a, b Process) int {
		if a.Answers != b.Answers {
			if a.Answers {
				return -1
			}
			return 1
		}
		if n := strings.Compare(a.Host, b.Host); n != 0 {
			return n
		}
		if n := a.StartedAt.Compare(b.StartedAt); n != 0 {
			return n
		}
		return strings.Compare(a.ID, b.ID)
	})
}

// Unit is what a figure is counted in; "" for things.
type Unit string

// The units.
const (
	Bytes     Unit = "bytes"
	PerSecond Unit = "per second"
)

// Figure is a number with its name.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  Unit    `json:"unit,omitempty"`
}

// String writes a figure as people read it: 1.5 MB.
func (f Figure) String() string {
	switch f.Unit {
	case Bytes:
		return bytesText(f.Value)
	case PerSecond:
		return strconv.FormatFloat(f.Value, 'f', -1, 64) + "/s"
	}
	return strconv.FormatFloat(f.Value, 'f', -1, 64)
}

func bytesText(n float64) string {
	for _, unit := range []string{"B", "kB", "MB", "GB"} {
		if n < 1000 {
			return strconv.FormatFloat(n, 'f', decimals(n, unit), 64) + " " + unit
		}
		n /= 1000
	}
	return strconv.FormatFloat(n, 'f', 1, 64) + " TB"
}

func decimals(n float64, unit string) int {
	if n >= 100 || unit == "B" {
		return 0
	}
	return 1
}

// SortFigures puts figures in the order of their names.
func SortFigures(all []Figure) {
	slices.SortFunc(all, func(a, b Figure) int { return strings.Compare(a.Name, b.Name) })
}

// Backend is a database or server that the processes work with.
type Backend struct {
	// Name says what for: state, documents, dispatch.
	Name string `json:"name"`
	// Kind is what it is, and Version which one.
	Kind    string `json:"kind"`
	Version string `json:"version,omitempty"`
	// Address is where, without secrets.
	Address string   `json:"address,omitempty"`
	Figures []Figure `json:"figures"`
	// Error says why nothing is known.
	Error string `json:"error,omitempty"`
}

// Teller tells of a backend. What it does not know it leaves out.
type Teller interface {
	Backend(ctx context.Context) (Backend, error)
}

// Part is a backend with what it is for.
type Part struct {
	Name string
	Teller
}

// patience is how long a backend may take to tell of itself.
const patience = 3 * time.Second

// Backends asks all backends at once. One that does not answer is in the list, with
// the reason.
func Backends(ctx context.Context, parts []Part) []Backend {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out := make([]Backend, len(parts))
	var all sync.WaitGroup
	for i, part := range parts {
		all.Go(func() {
			b, err := part.Backend(limited)
			if err != nil {
				b.Error = err.Error()
				if errors.Is(err, context.DeadlineExceeded) {
					b.Error = "it did not answer in time"
				}
			}
			b.Name = part.Name
			if b.Figures == nil {
				b.Figures = []Figure{}
			}
			out[i] = b
		})
	}
	all.Wait()
	return out
}
