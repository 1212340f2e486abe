package main

import (
	"fmt"
	"math"
	"sort"
	"strconv"

	"github.com/anishathalye/porcupine"
)

// A holding is a hold with the calls about it.
type holding struct {
	*hold
	// from is when it was surely there, and by what it was taken; 0: never surely.
	taken *call
	// until is what its client counted on last.
	until int64
	// released, moved: what took it away. doubtAt: from then on a call may have done so.
	released, moved *call
	doubtAt         int64
	// mentioned is when it last mattered to anybody.
	mentioned int64
}

const nobodyKnows = math.MaxInt64

// readLocks makes the operations of one name. What has no effect, and claims nothing, is left out: a take that failed.
func readLocks(h *history, name string, calls []*call) (*partition, error) {
	part := &partition{name: name, kind: calls[0].Kind, start: &lockState{}}
	part.model = func(init *lockState) porcupine.Model { return holdsModel(init, lockStep) }
	b := newBuilder(h, part)
	if err := b.findHolds(calls); err != nil {
		return nil, err
	}
	for _, c := range calls {
		if err := b.add(c); err != nil {
			return nil, err
		}
	}
	for _, one := range b.order {
		b.finish(one)
	}
	return part, nil
}

type builder struct {
	history  *history
	part     *partition
	holds    map[callID]*holding
	tickets  map[string]*holding
	order    []*holding
	mentions map[*call]int64
	// released: what releases the holds of a thread.
	released map[*call][]*call
	// unsure: since when the count of a thread may be higher than what it knows of.
	unsure map[*call][]int64
}

func newBuilder(h *history, part *partition) *builder {
	return &builder{history: h, part: part, holds: map[callID]*holding{}, tickets: map[string]*holding{},
		mentions: map[*call]int64{}, released: map[*call][]*call{}, unsure: map[*call][]int64{}}
}

func label(c *call) string { return fmt.Sprintf("%d/%d", c.P, c.Op) }

func (b *builder) newHold(c *call, of string) *holding {
	one := &holding{
		hold:    &hold{number: len(b.order) + 1, thread: b.history.root(c), permits: c.Permits, shared: c.Shared, label: of},
		taken:   c,
		doubtAt: nobodyKnows,
		until:   c.At,
	}
	b.order = append(b.order, one)
	return one
}

// findHolds makes a hold of whatever took one, so that calls can be about it.
func (b *builder) findHolds(calls []*call) error {
	for _, c := range calls {
		if c.Call == "release" && c.Of != nil {
			if of := b.history.byID[callID{c.P, *c.Of}]; of != nil {
				b.released[b.history.root(of)] = append(b.released[b.history.root(of)], c)
			}
		}
	}
	for _, c := range calls {
		at := c.At
		if c.end != nil {
			at = c.end.At
		}
		for _, look := range c.looks {
			at = max(at, look.At)
		}
		thread := b.history.root(c)
		for _, of := range []*int{c.Of, c.Within} {
			about, err := b.history.taken(c, of)
			if err != nil {
				return err
			}
			if about != nil {
				thread = b.history.root(about)
			}
		}
		b.mentions[thread] = max(b.mentions[thread], at)
		if c.Call != "take" && c.Call != "attach" && c.Call != "detach" {
			continue
		}
		if !c.ok() {
			if c.Call == "take" {
				b.unsure[thread] = append(b.unsure[thread], c.At)
			}
			continue
		}
		if c.Call == "detach" {
			one := b.newHold(c, "ticket of "+label(c))
			one.thread = c
			one.shared = false
			if c.end.Until != nil {
				one.until = *c.end.Until
			}
			if b.tickets[c.end.Ticket] != nil {
				return fmt.Errorf("ticket %s was made twice", c.end.Ticket)
			}
			b.tickets[c.end.Ticket] = one
			continue
		}
		one := b.newHold(c, label(c))
		if c.Within != nil {
			if outer := b.holds[callID{c.P, *c.Within}]; outer != nil {
				one.within = outer.hold
			}
		}
		one.until = max(one.until, b.countsOn(c))
		b.holds[c.id()] = one
	}
	return nil
}

// countsOn is until when a client counts on a hold. What another hold of its thread has asked for, it takes along when it
// is released: from then on a renewed hold has the lease of its own renewals.
func (b *builder) countsOn(c *call) int64 {
	thread := b.history.root(c)
	seen := append([]event{*c.end}, c.looks...)
	if c.Renewed {
		for _, other := range b.released[thread] {
			if *other.Of != c.Op {
				seen = append(seen, other.event)
			}
		}
	}
	sort.SliceStable(seen, func(i, j int) bool { return seen[i].At < seen[j].At })
	var until int64
	for _, one := range seen {
		if one.Type == "invoke" {
			until = min(until, one.At+reliableUs(c.Lease))
		} else if one.Until != nil {
			until = max(until, *one.Until)
		}
	}
	return until
}

// reliableUs is how much of a lease, in ms, a client counts on: clocks differ, and count in ms.
func reliableUs(leaseMs int64) int64 { return leaseMs*999 - 4_000 }

func (b *builder) step(c *call, in step, from, to int64) *operation {
	b.part.ops = append(b.part.ops, operation{input: &in, token: in.token, call: from, ret: to, p: c.P})
	return &b.part.ops[len(b.part.ops)-1]
}

func (b *builder) add(c *call) error {
	switch c.Call {
	case "take":
		if c.ok() {
			return b.addTake(c)
		}
	case "release":
		b.addRelease(c)
	case "detach":
		b.addDetach(c)
	case "attach":
		return b.addAttach(c)
	case "count":
		b.addCount(c)
	default:
		return fmt.Errorf("the judge does not know the call %q of %s", c.Call, c.Name)
	}
	return nil
}

func token(c *call) (uint64, error) {
	if c.end.Token == "" {
		return 0, nil
	}
	return strconv.ParseUint(c.end.Token, 10, 64)
}

func (b *builder) addTake(c *call) error {
	one := b.holds[c.id()]
	number, err := token(c)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s takes%s", one.label, describeTake(c))
	op := b.step(c, step{deed: take, hold: one.hold, token: number, text: text}, c.At, c.end.At)
	op.late = true
	// Who shares comes and goes beside many others: where its end is as good, it is the only one to try.
	if c.Shared && one.until >= c.end.At {
		op.call = op.ret
	}
	b.addLooks(c, one)
	return nil
}

func describeTake(c *call) string {
	text := ""
	if c.Shared {
		text += " shared"
	}
	if c.Within != nil {
		text += fmt.Sprintf(" within %d/%d", c.P, *c.Within)
	}
	if c.end.Token != "" {
		text += " with token " + c.end.Token
	}
	return text
}

func (b *builder) addLooks(c *call, one *holding) {
	for _, look := range c.looks {
		if look.Type == "held" {
			b.step(c, step{deed: present, hold: one.hold, text: one.label + " is there"}, look.At, look.At)
		} else {
			b.step(c, step{deed: absent, hold: one.hold, text: one.label + " is lost"}, look.At, look.At).late = true
		}
	}
}

func (b *builder) addRelease(c *call) {
	if c.Of == nil {
		// The release of permits is repeated where its answer was lost, and then it cannot know whether the first one was
		// the one that found them. It changes nothing, so it says yes.
		if c.ok() && !(c.Permits > 0 && b.history.disturbed(c)) {
			b.step(c, step{deed: never, text: fmt.Sprintf("process %d releases what it has not got", c.P)}, c.At, c.end.At)
		}
		return
	}
	one := b.holds[callID{c.P, *c.Of}]
	switch {
	case one == nil:
		// It gives back what it never got.
		if c.ok() {
			b.step(c, step{deed: never, text: fmt.Sprintf("process %d releases what it did not get", c.P)}, c.At, c.end.At)
		}
	case c.ok() && one.permits > 0 && c.end.At > one.until && b.history.disturbed(c):
		// The same: their lease may have been over.
		one.doubtAt = min(one.doubtAt, c.At)
	case c.ok():
		op := b.step(c, step{deed: release, hold: one.hold, text: one.label + " is released"}, c.At, c.end.At)
		op.early = true
		if one.shared {
			op.ret = op.call
		}
		if one.released == nil {
			one.released = c
		}
	case c.failed():
		// Its deadline passed while it was under way: it may have been released by then.
		if c.end.At >= one.until {
			one.doubtAt = min(one.doubtAt, c.At)
		}
		b.step(c, step{deed: absent, hold: one.hold, text: one.label + " cannot be released: " + c.end.Why}, c.At, c.end.At).late = true
	default:
		one.doubtAt = min(one.doubtAt, c.At)
	}
}

func (b *builder) addDetach(c *call) {
	one := b.holds[callID{c.P, *c.Of}]
	if one == nil {
		return
	}
	switch {
	case c.ok():
		to := b.tickets[c.end.Ticket]
		text := fmt.Sprintf("%s becomes the %s", one.label, to.label)
		b.step(c, step{deed: move, hold: one.hold, to: to.hold, text: text}, c.At, c.end.At).late = true
		if one.moved == nil {
			one.moved = c
		}
	case c.failed():
		// First it sets the shorter lease of the ticket. That may be over before the hold could become one.
		one.doubtAt = min(one.doubtAt, c.At+reliableUs(c.Lease))
		b.step(c, step{deed: absent, hold: one.hold, text: one.label + " cannot be detached: " + c.end.Why}, c.At, c.end.At).late = true
	default:
		one.doubtAt = min(one.doubtAt, c.At)
	}
}

func (b *builder) addAttach(c *call) error {
	ticket := b.tickets[c.Ticket]
	if ticket == nil {
		return fmt.Errorf("call %d of process %d attaches a ticket that nobody made", c.Op, c.P)
	}
	if c.end != nil {
		ticket.mentioned = max(ticket.mentioned, c.end.At)
	}
	switch {
	case c.ok():
		one := b.holds[c.id()]
		number, err := token(c)
		if err != nil {
			return err
		}
		text := fmt.Sprintf("%s takes up the %s%s", one.label, ticket.label, describeTake(c))
		b.step(c, step{deed: move, hold: ticket.hold, to: one.hold, token: number, text: text}, c.At, c.end.At).late = true
		if ticket.moved == nil {
			ticket.moved = c
		}
		b.addLooks(c, one)
	case c.failed():
		// It may have been taken up, and its new lease be over before the call could say so.
		if c.end.At >= c.At+reliableUs(c.Lease) {
			ticket.doubtAt = min(ticket.doubtAt, c.At)
		}
		text := fmt.Sprintf("the %s is of no use: %s", ticket.label, c.end.Why)
		b.step(c, step{deed: absent, hold: ticket.hold, text: text}, c.At, c.end.At).late = true
	default:
		ticket.doubtAt = min(ticket.doubtAt, c.At)
	}
	return nil
}

func (b *builder) addCount(c *call) {
	if !c.ok() || c.Within == nil || c.end.Value == nil {
		return
	}
	of := b.holds[callID{c.P, *c.Within}]
	if of == nil {
		return
	}
	doubt := 0
	for _, since := range b.unsure[of.thread] {
		if since <= c.end.At {
			doubt++
		}
	}
	// What ran out for its client, or was released in doubt, may be there for Redis a little longer, or until the lock is
	// free.
	for _, one := range b.order {
		if one.hold.thread == of.thread && one.released == nil && one.moved == nil && b.givenUp(one, c) {
			doubt++
		}
	}
	doubt += b.beside(of, c)
	text := fmt.Sprintf("%s counts %d", of.label, *c.end.Value)
	if c.end.Some {
		text = fmt.Sprintf("%s asks whether it is held: %d", of.label, *c.end.Value)
	}
	op := b.step(c, step{deed: count, thread: of.thread, value: *c.end.Value, some: c.end.Some, doubt: doubt, text: text},
		c.At, c.end.At)
	if *c.end.Value == 0 {
		op.late = true
	} else {
		op.early = true
	}
}

// beside is how many branches of a thread that share the lock take it, or give it back, during a call.
func (b *builder) beside(of *holding, c *call) int {
	n := 0
	for _, one := range b.order {
		if one.hold.thread != of.thread || !one.shared {
			continue
		}
		taking := one.taken.At <= c.end.At && one.taken.end.At >= c.At
		leaving := one.released != nil && one.released.At <= c.end.At && one.released.end.At >= c.At
		if taking || leaving {
			n++
		}
	}
	return n
}

// givenUp: by the end of a call the hold may be over without anybody having released it.
func (b *builder) givenUp(one *holding, c *call) bool {
	return one.taken.end.At <= c.end.At && min(one.until, one.doubtAt) <= c.end.At
}

// finish says when a hold was surely there, and lets the environment end it where nobody did.
func (b *builder) finish(one *holding) {
	gotAt := one.taken.end.At
	switch {
	case one.released != nil:
		b.surely(one, gotAt, one.released.At)
	case one.moved != nil:
		b.surely(one, gotAt, one.moved.end.At)
	default:
		from := min(one.until, one.doubtAt)
		// Nobody cares for it any more after it was last mentioned, so that is late enough.
		to := max(from, gotAt, b.mentions[one.thread], one.mentioned)
		why := "its lease is over"
		if one.doubtAt < one.until {
			why = "given up in doubt"
		}
		op := b.step(one.taken, step{deed: end, hold: one.hold, text: fmt.Sprintf("%s ends: %s", one.label, why)}, from, to)
		op.early = true
		op.after = gotAt
		op.p = 0
		b.surely(one, gotAt, from)
	}
}

func (b *builder) surely(one *holding, from, to int64) {
	if from < to {
		b.part.certain = append(b.part.certain, span{from, to, one.label})
	}
}
