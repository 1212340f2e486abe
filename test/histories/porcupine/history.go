package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
)

// An event is one line of a history. test/histories/history.ts says what each field means.
type event struct {
	Type       string   `json:"type"`
	At         int64    `json:"at"`
	P          int      `json:"p"`
	Op         int      `json:"op"`
	Call       string   `json:"call"`
	Kind       string   `json:"kind"`
	Name       string   `json:"name"`
	Lease      int64    `json:"lease"`
	Renewed    bool     `json:"renewed"`
	Shared     bool     `json:"shared"`
	Within     *int     `json:"within"`
	Permits    int      `json:"permits"`
	Total      int      `json:"total"`
	Of         *int     `json:"of"`
	Until      *int64   `json:"until"`
	Token      string   `json:"token"`
	Ids        []string `json:"ids"`
	Value      *int     `json:"value"`
	Some       bool     `json:"some"`
	Ticket     string   `json:"ticket"`
	Why        string   `json:"why"`
	Unexpected bool     `json:"unexpected"`
	What       string   `json:"what"`
}

// A call is what one process asked for, what came out, and what its client saw of the hold later.
type call struct {
	event
	// end is nil where the process was killed first, or the call hangs.
	end   *event
	looks []event
}

type callID struct{ p, op int }

func (c *call) id() callID { return callID{c.P, c.Op} }

func (c *call) ok() bool { return c.end != nil && c.end.Type == "ok" }

func (c *call) failed() bool { return c.end != nil && c.end.Type == "fail" }

// inDoubt: nobody knows whether it was done, or whether it will be.
func (c *call) inDoubt() bool { return !c.ok() && !c.failed() }

// A history is all that the processes have written.
type history struct {
	calls  []*call
	byID   map[callID]*call
	notes  []event
	faults []int64
}

// readHistory reads every file of a folder that ends in .jsonl.
func readHistory(folder string) (*history, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no history in %s", folder)
	}
	var events []event
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		// What is behind the last line feed was cut off by a SIGKILL.
		data = data[:bytes.LastIndexByte(data, '\n')+1]
		lines := bufio.NewScanner(bytes.NewReader(data))
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var one event
			if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
				return nil, fmt.Errorf("%s: %w: %s", file, err, lines.Text())
			}
			events = append(events, one)
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return newHistory(events)
}

func newHistory(events []event) (*history, error) {
	h := &history{byID: map[callID]*call{}}
	for _, one := range events {
		if one.Type != "invoke" {
			continue
		}
		c := &call{event: one}
		h.byID[c.id()] = c
		h.calls = append(h.calls, c)
	}
	for i := range events {
		one := events[i]
		switch one.Type {
		case "invoke":
		case "ok", "fail", "info", "held", "lost":
			c := h.byID[callID{one.P, one.Op}]
			if c == nil {
				return nil, fmt.Errorf("no call %d of process %d", one.Op, one.P)
			}
			if one.Type == "held" || one.Type == "lost" {
				c.looks = append(c.looks, one)
			} else if c.end != nil {
				return nil, fmt.Errorf("call %d of process %d ends twice", one.Op, one.P)
			} else {
				c.end = &one
			}
		case "killed", "ended", "wrong":
			h.notes = append(h.notes, one)
		case "fault":
			h.faults = append(h.faults, one.At)
		default:
			return nil, fmt.Errorf("the judge does not know the event %q", one.Type)
		}
	}
	sort.Slice(h.calls, func(i, j int) bool { return h.calls[i].At < h.calls[j].At })
	sort.Slice(h.faults, func(i, j int) bool { return h.faults[i] < h.faults[j] })
	return h, nil
}

// reachUs is for how long a fault may explain what went wrong.
const reachUs = 10_000_000

// disturbed: a fault was made during the call, or shortly before.
func (h *history) disturbed(c *call) bool {
	from := c.At - reachUs
	i := sort.Search(len(h.faults), func(i int) bool { return h.faults[i] >= from })
	return i < len(h.faults) && (c.end == nil || h.faults[i] <= c.end.At)
}

// root is the call that its thread took first: the owner that re-enters.
func (h *history) root(c *call) *call {
	for c.Within != nil {
		outer := h.byID[callID{c.P, *c.Within}]
		if outer == nil {
			return c
		}
		c = outer
	}
	return c
}

// taken is the call that this one is about: what it gives back, or looks into.
func (h *history) taken(c *call, op *int) (*call, error) {
	if op == nil {
		return nil, nil
	}
	of := h.byID[callID{c.P, *op}]
	if of == nil || of.Name != c.Name {
		return nil, fmt.Errorf("call %d of process %d is about call %d, which is not there", c.Op, c.P, *op)
	}
	return of, nil
}
