package main

import (
	"fmt"
	"math"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

/*
 * Judging takes far more than twice as long for twice as many operations, so the operations of a lock are cut where surely
 * nobody has it. A call that spans a cut is put on one side, and this decides nothing:
 *
 * - Whoever takes a lock later hinders others no more. So a take goes to where it ends; likewise what says that
 *   something is gone, which stays true.
 * - Whoever gives it back sooner hinders others no more. So a release, and the end of a lease, go to where they begin.
 */

// A partition is all operations of one name.
type partition struct {
	name, kind string
	ops        []operation
	// certain: when somebody surely has the lock.
	certain []span
	// uncut: what was before always counts.
	uncut bool
	model func(init *lockState) porcupine.Model
	start *lockState
}

// A span is when somebody surely has the lock: from when it was told so, until it gave it back or stopped counting on it.
type span struct {
	from, to int64
	who      string
}

// An operation is a step of a model with the time in which it happens.
type operation struct {
	input     interface{}
	call, ret int64
	p         int
	// after: it happens after that, whenever it may have begun.
	after int64
	token uint64
	// late: moving it to its end breaks nothing that was right; early: moving it to its beginning. See windows.go.
	late, early bool
}

// A window is a part of it, and what is known when it begins.
type window struct {
	ops   []operation
	start *lockState
}

// gaps are the times at which surely nobody has the lock any more, and not yet again.
func (part *partition) gaps() []int64 {
	if part.uncut {
		return nil
	}
	certain := append([]span(nil), part.certain...)
	sort.Slice(certain, func(i, j int) bool { return certain[i].from < certain[j].from })
	var gaps []int64
	last := int64(math.MinInt64)
	for _, one := range certain {
		if last != math.MinInt64 && one.from > last {
			gaps = append(gaps, last)
		}
		last = max(last, one.to)
	}
	return gaps
}

// cut makes windows of at least so many operations.
func (part *partition) cut(least int, gaps []int64) []window {
	sorted := append([]operation(nil), part.ops...)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].side() < sorted[j].side() })
	var windows []window
	state := part.start
	if state == nil {
		state = &lockState{}
	}
	current := window{start: state}
	from := int64(math.MinInt64)
	gap := 0
	for _, op := range sorted {
		for gap < len(gaps) && op.side() > gaps[gap] {
			if len(current.ops) >= least {
				current.end(gaps[gap])
				windows = append(windows, current)
				from = gaps[gap]
				current = window{start: state}
			}
			gap++
		}
		if op.late {
			op.call = max(op.call, from)
		}
		if op.early {
			// It may have begun before what it ends.
			op.call = max(op.call, from)
			op.ret = max(op.ret, op.call)
		}
		if op.token > state.token {
			state = &lockState{token: op.token}
		}
		current.ops = append(current.ops, op)
	}
	return append(windows, current)
}

func (w *window) end(at int64) {
	for i := range w.ops {
		if w.ops[i].early {
			w.ops[i].ret = max(w.ops[i].call, min(w.ops[i].ret, at))
		}
	}
}

// side is when an operation counts for the cut.
func (op operation) side() int64 {
	if op.early {
		return max(op.call, op.after)
	}
	return op.ret
}

// toOperations: as porcupine wants them, each on a line of its own process.
func toOperations(ops []operation) []porcupine.Operation {
	sorted := append([]operation(nil), ops...)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].call < sorted[j].call })
	type lane struct {
		p    int
		free int64
	}
	var lanes []lane
	list := make([]porcupine.Operation, len(sorted))
	for i, op := range sorted {
		id := -1
		for k := range lanes {
			if lanes[k].p == op.p && lanes[k].free < op.call {
				id = k
				break
			}
		}
		if id < 0 {
			id = len(lanes)
			lanes = append(lanes, lane{p: op.p})
		}
		lanes[id].free = op.ret
		list[i] = porcupine.Operation{ClientId: id, Input: op.input, Call: op.call, Return: op.ret}
	}
	return list
}

// leastOps is how many operations a window has at least, but for the last.
const leastOps = 300

// judged is what came out for one name.
type judged struct {
	windows int
	ops     int
	result  porcupine.CheckResult
	// worst: what its longest window took.
	worst time.Duration
	// wrong is the smallest piece that is wrong in itself, or was not judged in time.
	wrong *window
}

func (part *partition) judge(limit time.Duration) judged {
	gaps := part.gaps()
	result := judged{ops: len(part.ops), result: porcupine.Ok}
	for _, one := range part.cut(leastOps, gaps) {
		startedAt := time.Now()
		found := part.check(one, limit)
		result.windows++
		result.worst = max(result.worst, time.Since(startedAt))
		if found == porcupine.Ok {
			continue
		}
		one := one
		result.wrong = &one
		result.result = found
		if found == porcupine.Illegal {
			small := part.smallest(one, gaps, limit)
			result.wrong = &small
			return result
		}
	}
	return result
}

func (part *partition) check(one window, limit time.Duration) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(part.specify(one.start), toOperations(one.ops), limit)
}

// smallest is what is still wrong of a window when all is left out that has nothing to do with it.
func (part *partition) smallest(wrong window, gaps []int64, limit time.Duration) window {
	for _, least := range []int{30, 10, 1} {
		for _, one := range part.cut(least, gaps) {
			if part.check(one, limit) == porcupine.Illegal {
				if one.tellsAll() {
					wrong = one
				}
				break
			}
		}
	}
	// The first moment by which something was wrong.
	ends := make([]int64, len(wrong.ops))
	for i, op := range wrong.ops {
		ends[i] = op.ret
	}
	sort.Slice(ends, func(i, j int) bool { return ends[i] < ends[j] })
	i := sort.Search(len(ends), func(i int) bool {
		return part.check(part.until(wrong, ends[i]), limit) == porcupine.Illegal
	})
	if i < len(ends) {
		wrong = part.until(wrong, ends[i])
	}
	return wrong
}

// tellsAll: whoever reads only this piece knows where each hold of it comes from.
func (w window) tellsAll() bool {
	known := map[*hold]bool{nil: true}
	for _, op := range w.ops {
		if in, ok := op.input.(*step); ok && in.deed == take {
			known[in.hold] = true
		} else if ok && in.deed == move {
			known[in.to] = true
		}
	}
	for _, op := range w.ops {
		if in, ok := op.input.(*step); ok && !known[in.hold] {
			return false
		}
	}
	return true
}

// An open input is of a call that had not ended yet: it may have had its effect, or not. It is the last in any order.
type open struct{ input interface{} }

// until leaves out what had not happened yet. What may have happened by then has, where that hinders nobody.
func (part *partition) until(whole window, at int64) window {
	left := window{start: whole.start}
	for _, op := range whole.ops {
		if op.ret > at {
			if op.call > at || (!part.uncut && (!op.early || op.side() > at)) {
				continue
			}
			op.ret = at
			if part.uncut {
				op.input = open{op.input}
				op.ret = at + 1
			}
		}
		left.ops = append(left.ops, op)
	}
	return left
}

// specify is the model of a partition, for open calls as well.
func (part *partition) specify(start *lockState) porcupine.Model {
	model := part.model(start)
	next, describe := model.Step, model.DescribeOperation
	model.StepContext = nil
	model.Step = func(state, input, output interface{}) (bool, interface{}) {
		one, isOpen := input.(open)
		if !isOpen {
			return next(state, input, output)
		}
		if ok, to := next(state, one.input, output); ok {
			return true, to
		}
		return true, state
	}
	model.DescribeOperation = func(input, output interface{}) string {
		if one, isOpen := input.(open); isOpen {
			return describe(one.input, output) + " (under way)"
		}
		return describe(input, output)
	}
	return model
}

// draw writes porcupine's picture of a window.
func (part *partition) draw(one window, limit time.Duration, file string) error {
	_, info := porcupine.CheckOperationsVerbose(part.specify(one.start), toOperations(one.ops), limit)
	from, to := int64(math.MaxInt64), int64(math.MinInt64)
	for _, op := range one.ops {
		from, to = min(from, op.call), max(to, op.ret)
	}
	// Below the calls: who counts on the lock, and until when.
	var bars []porcupine.Annotation
	for _, held := range part.certain {
		if held.from <= to && held.to >= from {
			bars = append(bars, porcupine.Annotation{
				Tag: held.who, Start: held.from, End: held.to, Description: "counts on it", BackgroundColor: "#ffe9a8",
				Details: fmt.Sprintf("%s counts on it for %.3f ms", held.who, float64(held.to-held.from)/1_000),
			})
		}
	}
	info.AddAnnotations(bars)
	return porcupine.VisualizePath(part.specify(one.start), info, file)
}

// longest is which operations, in the order of their calls, are in the longest order that agrees with the model.
func (part *partition) longest(one window, limit time.Duration) []bool {
	_, info := porcupine.CheckOperationsVerbose(part.specify(one.start), toOperations(one.ops), limit)
	fits := make([]bool, len(one.ops))
	var most []int
	for _, partial := range info.PartialLinearizations()[0] {
		if len(partial) > len(most) {
			most = partial
		}
	}
	for _, i := range most {
		fits[i] = true
	}
	return fits
}
