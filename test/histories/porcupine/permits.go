package main

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// leasedStep is the specification of permits with ids and leases: never more are out than there are, and none before that.
func leasedStep(s *lockState, in *step) (bool, *lockState) {
	out := 0
	for _, one := range s.holds {
		out += one.permits
	}
	switch in.deed {
	case setUp:
		// Who hears that there are some already: from then on there are.
		if in.value == 1 && s.set && in.doubt == 0 {
			return false, s
		}
		return true, &lockState{holds: s.holds, set: true}
	case take:
		if (!s.set && in.doubt == 0) || out+in.hold.permits > in.total {
			return false, s
		}
		return true, &lockState{holds: s.with(in.hold), set: true}
	case release, end:
		return s.has(in.hold), &lockState{holds: s.without(in.hold), set: s.set}
	case absent:
		return !s.has(in.hold), s
	case available:
		if !s.set && in.value == 0 {
			return true, s
		}
		return in.value <= in.total-out && in.value >= in.total-out-in.doubt, s
	}
	return false, s
}

// leftUs: a lease that nobody ended may last so much longer in Redis than its client counts on.
const leftUs = 50_000

func readLeased(h *history, name string, calls []*call) (*partition, error) {
	part := &partition{name: name, kind: calls[0].Kind, start: &lockState{}, uncut: true}
	part.model = func(init *lockState) porcupine.Model { return holdsModel(init, leasedStep) }
	b := newBuilder(h, part)
	if err := b.findHolds(calls); err != nil {
		return nil, err
	}
	for _, c := range calls {
		switch c.Call {
		case "set":
			b.addSet(c, calls)
		case "take":
			if c.ok() {
				b.step(c, step{deed: take, hold: b.holds[c.id()].hold, total: c.Total, doubt: doubtfulSets(calls, c),
					text: fmt.Sprintf("%s takes %d", label(c), c.Permits)}, c.At, c.end.At)
			}
		case "release":
			b.addRelease(c)
		case "available":
			if c.ok() && c.end.Value != nil {
				b.step(c, step{deed: available, value: *c.end.Value, total: c.Total, doubt: b.doubtfulPermits(calls, c),
					text: fmt.Sprintf("%d are left", *c.end.Value)}, c.At, c.end.At)
			}
		default:
			return nil, fmt.Errorf("the judge does not know the call %q of %s", c.Call, c.Name)
		}
	}
	for _, one := range b.order {
		b.finish(one)
	}
	return part, nil
}

func (b *builder) addSet(c *call, calls []*call) {
	if c.inDoubt() {
		return
	}
	value, text := 0, "there are some already"
	if c.ok() {
		value, text = 1, fmt.Sprintf("there are %d from now on", c.Total)
	}
	b.step(c, step{deed: setUp, value: value, total: c.Total, doubt: doubtfulSets(calls, c), text: text}, c.At, c.end.At)
}

// doubtfulSets is how many calls may have set something up before another one ended.
func doubtfulSets(calls []*call, c *call) int {
	n := 0
	for _, one := range calls {
		if one.Call == "set" && one.inDoubt() && one.At <= c.end.At {
			n++
		}
	}
	return n
}

// lateUs: a call whose time is over may hear so much later that it got permits. Then it gives them back.
const lateUs = 2_000_000

// withoutAnswer is how many permits may be out at a call because others have taken them without an answer in time.
func (h *history) withoutAnswer(calls []*call, c *call) int {
	n := 0
	for _, one := range calls {
		if one.Call != "take" || one.At > c.end.At || one.ok() {
			continue
		}
		if one.inDoubt() || h.disturbed(one) || one.end.At+lateUs >= c.At {
			n += one.Permits
		}
	}
	return n
}

// doubtfulPermits is how many may be out that the model knows nothing of: without an answer, and not undone yet; or over
// for their client, and not yet for Redis.
func (b *builder) doubtfulPermits(calls []*call, c *call) int {
	n := b.history.withoutAnswer(calls, c)
	for _, one := range calls {
		if one.Call != "take" || one.At > c.end.At {
			continue
		}
		if one.ok() && one.end.At+one.Lease*1_000+leftUs >= c.At {
			if of := b.holds[one.id()]; of.released == nil {
				n += one.Permits
			}
		}
	}
	return n
}

// A semaphore has no owners: it is a number, and what nobody knows of it.
type semaphoreState struct {
	set  bool
	free int
	// more: so many may have been given back by calls whose outcome is unknown.
	more int
}

type semaphoreStep struct {
	deed semaphoreDeed
	n    int
	// sets is how many unknown calls may have set it up, less how many permits may be out without an answer.
	sets, less int
	text       string
}

type semaphoreDeed int

const (
	semSet semaphoreDeed = iota
	semSetAlready
	semTake
	semRelease
	semMaybeRelease
	semAvailable
)

func semaphoreNext(s semaphoreState, in *semaphoreStep, total int) (bool, semaphoreState) {
	switch in.deed {
	case semSet, semSetAlready:
		if s.set {
			return in.deed == semSetAlready || in.sets > 0, s
		}
		s.set = true
		s.free += total
		return true, s
	case semTake:
		if !s.set {
			if in.sets == 0 {
				return false, s
			}
			s.set = true
			s.free += total
		}
		s.free -= in.n
		return s.free+s.more >= 0, s
	case semRelease:
		s.free += in.n
		return true, s
	case semMaybeRelease:
		s.more += in.n
		return true, s
	}
	if !s.set {
		return in.n == 0 || in.sets > 0, s
	}
	return s.free-in.less <= in.n && in.n <= s.free+s.more, s
}

func readSemaphore(h *history, name string, calls []*call) (*partition, error) {
	part := &partition{name: name, kind: calls[0].Kind, uncut: true}
	total := 0
	add := func(c *call, in semaphoreStep, from, to int64) {
		if c.end != nil {
			in.sets = doubtfulSets(calls, c)
		}
		part.ops = append(part.ops, operation{input: &in, call: from, ret: to, p: c.P})
	}
	for _, c := range calls {
		total = max(total, c.Total)
		switch c.Call {
		case "set":
			if c.ok() {
				add(c, semaphoreStep{deed: semSet, text: fmt.Sprintf("there are %d from now on", c.Total)}, c.At, c.end.At)
			} else if c.failed() {
				add(c, semaphoreStep{deed: semSetAlready, text: "there are some already"}, c.At, c.end.At)
			}
		case "take":
			if c.ok() {
				text := fmt.Sprintf("%s takes %d", label(c), c.Permits)
				add(c, semaphoreStep{deed: semTake, n: c.Permits, text: text}, c.At, c.end.At)
			}
		case "release":
			of, err := h.taken(c, c.Of)
			if err != nil {
				return nil, err
			}
			if of == nil || c.failed() {
				continue
			}
			text := fmt.Sprintf("%s gives back %d", label(of), of.Permits)
			if c.ok() {
				add(c, semaphoreStep{deed: semRelease, n: of.Permits, text: text}, c.At, c.end.At)
			} else {
				add(c, semaphoreStep{deed: semMaybeRelease, n: of.Permits, text: text + ", maybe"}, c.At, c.At)
			}
		case "available":
			if c.ok() && c.end.Value != nil {
				in := semaphoreStep{deed: semAvailable, n: *c.end.Value, text: fmt.Sprintf("%d are left", *c.end.Value)}
				in.less = h.withoutAnswer(calls, c)
				add(c, in, c.At, c.end.At)
			}
		default:
			return nil, fmt.Errorf("the judge does not know the call %q of %s", c.Call, c.Name)
		}
	}
	model := porcupine.Model{
		Init: func() interface{} { return semaphoreState{} },
		Step: func(state, input, _ interface{}) (bool, interface{}) {
			ok, next := semaphoreNext(state.(semaphoreState), input.(*semaphoreStep), total)
			return ok, next
		},
		Hash: func(state interface{}) uint64 {
			s := state.(semaphoreState)
			return uint64(s.free)*31 + uint64(s.more)*100003
		},
		DescribeOperation: func(input, _ interface{}) string { return input.(*semaphoreStep).text },
		DescribeState: func(state interface{}) string {
			s := state.(semaphoreState)
			if !s.set {
				return "not set up"
			}
			return fmt.Sprintf("%d left (up to %d more)", s.free, s.more)
		},
	}
	part.model = func(*lockState) porcupine.Model { return model }
	return part, nil
}
