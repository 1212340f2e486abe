package main

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// A latchState is one of the states that a latch may be in: its count (0: open), and the calls whose outcome is unknown
// that may still be done.
type latchState struct{ count, downs, sets int }

type latchStep struct {
	deed  latchDeed
	total int
	text  string
}

type latchDeed int

const (
	latchSet latchDeed = iota
	latchSetAlready
	latchDown
	latchMaybeSet
	latchMaybeDown
	latchAwait
)

// may is every state that unknown calls can have made of one.
func (s latchState) may(total int) []latchState {
	seen := map[latchState]bool{s: true}
	list := []latchState{s}
	for i := 0; i < len(list); i++ {
		one := list[i]
		var next []latchState
		if one.downs > 0 && one.count > 0 {
			next = append(next, latchState{one.count - 1, one.downs - 1, one.sets})
		}
		if one.sets > 0 && one.count == 0 {
			next = append(next, latchState{total, one.downs, one.sets - 1})
		}
		for _, other := range next {
			if !seen[other] {
				seen[other] = true
				list = append(list, other)
			}
		}
	}
	return list
}

// latchNext is the specification of a latch: it opens when it was counted down as often as it was set to, and only then.
// An open latch can be set anew.
func latchNext(s latchState, in *latchStep) []interface{} {
	var next []interface{}
	switch in.deed {
	case latchMaybeSet:
		return []interface{}{latchState{s.count, s.downs, s.sets + 1}}
	case latchMaybeDown:
		return []interface{}{latchState{s.count, s.downs + 1, s.sets}}
	}
	for _, one := range s.may(in.total) {
		switch in.deed {
		case latchSet:
			if one.count == 0 {
				next = append(next, latchState{in.total, one.downs, one.sets})
			}
		case latchSetAlready:
			if one.count > 0 {
				next = append(next, one)
			}
		case latchDown:
			next = append(next, latchState{max(0, one.count-1), one.downs, one.sets})
		case latchAwait:
			if one.count == 0 {
				next = append(next, one)
			}
		}
	}
	return next
}

func readLatch(_ *history, name string, calls []*call) (*partition, error) {
	part := &partition{name: name, kind: calls[0].Kind, uncut: true}
	for _, c := range calls {
		in := &latchStep{total: c.Total}
		from, to := c.At, c.At
		if c.end != nil {
			to = c.end.At
		}
		switch {
		case c.Call == "set" && c.ok():
			in.deed, in.text = latchSet, fmt.Sprintf("is set to %d", c.Total)
		case c.Call == "set" && c.failed():
			in.deed, in.text = latchSetAlready, "is set already"
		case c.Call == "set":
			in.deed, in.text, to = latchMaybeSet, "is set, maybe", from
		case c.Call == "down" && c.ok():
			in.deed, in.text = latchDown, "counts down"
		case c.Call == "down" && c.inDoubt():
			in.deed, in.text, to = latchMaybeDown, "counts down, maybe", from
		case c.Call == "await" && c.ok():
			in.deed, in.text = latchAwait, "is open"
		case c.Call == "await" || c.Call == "down":
			continue
		default:
			return nil, fmt.Errorf("the judge does not know the call %q of %s", c.Call, c.Name)
		}
		part.ops = append(part.ops, operation{input: in, call: from, ret: to, p: c.P})
	}
	model := porcupine.NondeterministicModel{
		Init: func() []interface{} { return []interface{}{latchState{}} },
		Step: func(state, input, _ interface{}) []interface{} {
			return latchNext(state.(latchState), input.(*latchStep))
		},
		Hash: func(state interface{}) uint64 {
			s := state.(latchState)
			return (uint64(s.count)*1009+uint64(s.downs))*100003 + uint64(s.sets) + 1
		},
		DescribeOperation: func(input, _ interface{}) string { return input.(*latchStep).text },
		DescribeState: func(state interface{}) string {
			s := state.(latchState)
			return fmt.Sprintf("%d to go (%d downs and %d sets unknown)", s.count, s.downs, s.sets)
		},
	}
	part.model = func(*lockState) porcupine.Model { return model.ToModel() }
	return part, nil
}
