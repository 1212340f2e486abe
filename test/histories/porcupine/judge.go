package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// A finding is what must not be.
type finding struct {
	Rule string `json:"rule"`
	Name string `json:"name,omitempty"`
	Kind string `json:"kind,omitempty"`
	Text string `json:"text"`
	// Lines are the operations of the smallest piece that is wrong.
	Lines []string `json:"lines,omitempty"`
	// Picture is a page of HTML.
	Picture string `json:"picture,omitempty"`
}

// A verdict is what the judge says of a whole history.
type verdict struct {
	Calls      int `json:"calls"`
	Names      int `json:"names"`
	Operations int `json:"operations"`
	Windows    int `json:"windows"`
	// WorstMs is what the longest window took.
	WorstMs  int64     `json:"worstMs"`
	Findings []finding `json:"findings"`
	// Unknown is what was not judged in time. That is no success.
	Unknown []finding `json:"unknown"`
}

type options struct {
	// limit is how long one window may take.
	limit time.Duration
	// pictures is the folder for them; nothing: none.
	pictures string
}

// mostPictures are drawn; more help nobody.
const mostPictures = 5

// judge says what is wrong in a history.
func judge(h *history, with options) (*verdict, error) {
	v := &verdict{Calls: len(h.calls), Findings: plainRules(h), Unknown: []finding{}}
	if v.Findings == nil {
		v.Findings = []finding{}
	}
	parts, err := partitions(h)
	if err != nil {
		return nil, err
	}
	v.Names = len(parts)
	results := make([]judged, len(parts))
	var group sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := range next {
				results[i] = parts[i].judge(with.limit)
			}
		}()
	}
	for i := range parts {
		next <- i
	}
	close(next)
	group.Wait()
	for i, result := range results {
		v.Operations += result.ops
		v.Windows += result.windows
		v.WorstMs = max(v.WorstMs, result.worst.Milliseconds())
		if result.result == porcupine.Ok {
			continue
		}
		found := parts[i].describe(result, with.limit)
		if result.result == porcupine.Unknown {
			v.Unknown = append(v.Unknown, found)
			continue
		}
		if with.pictures != "" && len(v.Findings) < mostPictures {
			name := regexp.MustCompile(`\W+`).ReplaceAllString(found.Name, "-")
			file := filepath.Join(with.pictures, fmt.Sprintf("violation-%s.html", strings.Trim(name, "-")))
			if err := parts[i].draw(*result.wrong, with.limit, file); err != nil {
				return nil, err
			}
			found.Picture = file
		}
		v.Findings = append(v.Findings, found)
	}
	return v, nil
}

// partitions: one for each name, by the model of its kind.
func partitions(h *history) ([]*partition, error) {
	byName := map[string][]*call{}
	var names []string
	for _, c := range h.calls {
		if byName[c.Name] == nil {
			names = append(names, c.Name)
		}
		byName[c.Name] = append(byName[c.Name], c)
	}
	parts := make([]*partition, len(names))
	for i, name := range names {
		calls := byName[name]
		read := readLocks
		switch calls[0].Kind {
		case "semaphore":
			read = readSemaphore
		case "expirable permits":
			read = readLeased
		case "latch":
			read = readLatch
		}
		part, err := read(h, name, calls)
		if err != nil {
			return nil, err
		}
		parts[i] = part
	}
	return parts, nil
}

// describe marks what is in no order that agrees with the model for as long as any.
func (part *partition) describe(result judged, limit time.Duration) finding {
	ops := append([]operation(nil), result.wrong.ops...)
	sort.SliceStable(ops, func(i, j int) bool { return ops[i].call < ops[j].call })
	describe := part.specify(result.wrong.start).DescribeOperation
	lines := make([]string, len(ops))
	fits := part.longest(*result.wrong, limit)
	for i, op := range ops {
		mark := ' '
		if !fits[i] && result.result == porcupine.Illegal {
			mark = '!'
		}
		lines[i] = fmt.Sprintf("%c %11.3f ms … %10.3f ms  process %d: %s", mark, float64(op.call-ops[0].call)/1_000,
			float64(op.ret-ops[0].call)/1_000, op.p, describe(op.input, nil))
	}
	text := "no order of these operations agrees with the model"
	if result.result == porcupine.Unknown {
		text = fmt.Sprintf("%d operations were not judged in time", len(ops))
	}
	return finding{Rule: "order", Name: part.name, Kind: part.kind, Text: text, Lines: lines}
}
