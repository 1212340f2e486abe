package main

import (
	"fmt"
	"sort"
	"strings"

	"github.com/anishathalye/porcupine"
)

// A hold of a lock, the hold that waits for its ticket, or permits with a lease.
type hold struct {
	number  int
	thread  *call
	within  *hold
	shared  bool
	permits int
	label   string
}

type deed int

const (
	take deed = iota
	release
	end
	move
	present
	absent
	count
	never
	setUp
	available
)

// A step is one operation of the model: of a client, or of the environment (end).
type step struct {
	deed deed
	// hold is given, taken away or looked at.
	hold *hold
	// to is what takes its place: a hold becomes a ticket, a ticket a hold.
	to    *hold
	token uint64
	value int
	// some: the value only says whether there is one.
	some bool
	// doubt: so many that nobody knows of may be there as well.
	doubt  int
	thread *call
	total  int
	text   string
}

// A lockState is who has the lock, by number, and the last token.
type lockState struct {
	holds []*hold
	token uint64
	set   bool
}

func (s *lockState) has(h *hold) bool {
	for _, one := range s.holds {
		if one == h {
			return true
		}
	}
	return false
}

func (s *lockState) with(h *hold) []*hold {
	holds := append(append(make([]*hold, 0, len(s.holds)+1), s.holds...), h)
	sort.Slice(holds, func(i, j int) bool { return holds[i].number < holds[j].number })
	return holds
}

func (s *lockState) without(h *hold) []*hold {
	holds := make([]*hold, 0, len(s.holds))
	for _, one := range s.holds {
		if one != h {
			holds = append(holds, one)
		}
	}
	return holds
}

func (s *lockState) of(thread *call) int {
	n := 0
	for _, one := range s.holds {
		if one.thread == thread {
			n++
		}
	}
	return n
}

// lets: who is inside keeps nobody out whom it shares with, nor its own thread where that re-enters. Branches that
// re-enter side by side take turns. A reader does not become a writer.
func lets(inside, h *hold) bool {
	if inside.shared {
		return h.shared
	}
	for outer := h.within; outer != nil; outer = outer.within {
		if outer == inside {
			return true
		}
	}
	return false
}

func (s *lockState) lets(h *hold) bool {
	for _, inside := range s.holds {
		if !lets(inside, h) {
			return false
		}
	}
	return true
}

// lockStep is the specification of every lock: plain, fair, spin, re-entrant or not, fenced, read/write, of several, and
// of tickets.
func lockStep(s *lockState, in *step) (bool, *lockState) {
	switch in.deed {
	case take:
		if !s.lets(in.hold) || (in.token != 0 && in.token <= s.token) {
			return false, s
		}
		return true, &lockState{holds: s.with(in.hold), token: max(s.token, in.token)}
	case release, end:
		return s.has(in.hold), &lockState{holds: s.without(in.hold), token: s.token}
	case move:
		if !s.has(in.hold) || (in.token != 0 && in.token <= s.token) {
			return false, s
		}
		moved := &lockState{holds: s.without(in.hold), token: max(s.token, in.token)}
		if !moved.lets(in.to) {
			return false, s
		}
		return true, &lockState{holds: moved.with(in.to), token: moved.token}
	case present:
		return s.has(in.hold), s
	case absent:
		return !s.has(in.hold), s
	case count:
		n := s.of(in.thread)
		if in.some {
			return in.value == 1 && n+in.doubt > 0 || in.value == 0 && n == 0, s
		}
		return n <= in.value && in.value <= n+in.doubt, s
	}
	return false, s
}

func describeHolds(s *lockState) string {
	labels := make([]string, len(s.holds))
	for i, one := range s.holds {
		labels[i] = one.label
	}
	text := "nobody"
	if len(labels) > 0 {
		text = strings.Join(labels, ", ")
	}
	if s.token > 0 {
		text += fmt.Sprintf("; token %d", s.token)
	}
	return text
}

func holdsModel(init *lockState, next func(*lockState, *step) (bool, *lockState)) porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} { return init },
		Step: func(state, input, _ interface{}) (bool, interface{}) {
			ok, to := next(state.(*lockState), input.(*step))
			return ok, to
		},
		Equal: func(a, b interface{}) bool {
			x, y := a.(*lockState), b.(*lockState)
			if x.token != y.token || x.set != y.set || len(x.holds) != len(y.holds) {
				return false
			}
			for i := range x.holds {
				if x.holds[i] != y.holds[i] {
					return false
				}
			}
			return true
		},
		Hash: func(state interface{}) uint64 {
			s := state.(*lockState)
			hash := s.token * 0x9E3779B97F4A7C15
			for _, one := range s.holds {
				hash = (hash ^ uint64(one.number)) * 0x100000001B3
			}
			return hash
		},
		DescribeOperation: func(input, _ interface{}) string { return input.(*step).text },
		DescribeState:     func(state interface{}) string { return describeHolds(state.(*lockState)) },
	}
}
