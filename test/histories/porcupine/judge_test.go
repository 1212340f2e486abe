package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A script is a history made by hand. Times are in ms.
type script struct {
	events []event
	ops    int
}

func us(ms float64) *int64 {
	at := int64(ms * 1_000)
	return &at
}

func (s *script) invoke(at float64, p int, one event) int {
	s.ops++
	one.Type, one.At, one.P, one.Op = "invoke", *us(at), p, s.ops
	s.events = append(s.events, one)
	return s.ops
}

func (s *script) end(at float64, p, op int, kind string, result event) {
	result.Type, result.At, result.P, result.Op = kind, *us(at), p, op
	s.events = append(s.events, result)
}

func (s *script) note(at float64, p int, kind string) {
	s.events = append(s.events, event{Type: kind, At: *us(at), P: p})
}

// take: a lock, from ... to, counted on until then.
func (s *script) take(from, to float64, p int, until float64, one event) int {
	one.Call = "take"
	if one.Kind == "" {
		one.Kind = "lock"
	}
	if one.Name == "" {
		one.Name = "a"
	}
	if one.Lease == 0 {
		one.Lease = int64(until - from)
	}
	token := one.Token
	one.Token = ""
	op := s.invoke(from, p, one)
	s.end(to, p, op, "ok", event{Until: us(until), Token: token})
	return op
}

func (s *script) release(from, to float64, p, of int, kind, why string) int {
	var about *int
	if of > 0 {
		about = &of
	}
	var taken event
	for _, one := range s.events {
		if one.Type == "invoke" && one.Op == of {
			taken = one
		}
	}
	if of == 0 {
		taken = event{Kind: "lock", Name: "a"}
	}
	op := s.invoke(from, p, event{Call: "release", Kind: taken.Kind, Name: taken.Name, Of: about})
	if kind != "" {
		s.end(to, p, op, kind, event{Why: why})
	}
	return op
}

func (s *script) look(at float64, p, op int, kind string, until float64) {
	one := event{}
	if kind == "held" {
		one.Until = us(until)
	}
	s.end(at, p, op, kind, one)
}

func (s *script) detach(from, to float64, p, of int, ticket string, until float64) {
	op := s.invoke(from, p, event{Call: "detach", Kind: "ticket lock", Name: "a", Of: &of, Lease: int64(until - from)})
	s.end(to, p, op, "ok", event{Ticket: ticket, Until: us(until)})
}

func (s *script) attach(from, to float64, p int, ticket, kind string, until float64) int {
	op := s.invoke(from, p, event{Call: "attach", Kind: "ticket lock", Name: "a", Ticket: ticket, Lease: 1_000})
	if kind == "ok" {
		s.end(to, p, op, kind, event{Until: us(until)})
	} else {
		s.end(to, p, op, kind, event{Why: "lost"})
	}
	return op
}

// did: a call of a synchronizer.
func (s *script) did(from, to float64, p int, kind string, total, permits, value int, what ...string) int {
	one := event{Call: what[0], Kind: kind, Name: "a", Total: total, Permits: permits}
	op := s.invoke(from, p, one)
	result := event{}
	if what[0] == "available" {
		result.Value = &value
	}
	if what[1] != "" {
		s.end(to, p, op, what[1], result)
	}
	return op
}

func (s *script) count(from, to float64, p, within, value int, some bool) {
	op := s.invoke(from, p, event{Call: "count", Kind: "lock", Name: "a", Within: &within})
	s.end(to, p, op, "ok", event{Value: &value, Some: some})
}

func TestHistoriesMadeByHand(t *testing.T) {
	for _, one := range histories {
		t.Run(one.name, func(t *testing.T) {
			s := &script{}
			one.make(s)
			h, err := newHistory(s.events)
			if err != nil {
				t.Fatal(err)
			}
			v, err := judge(h, options{limit: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			if len(v.Unknown) > 0 {
				t.Fatalf("not judged in time: %v", v.Unknown)
			}
			if one.rule == right {
				for _, found := range v.Findings {
					t.Errorf("%s: %s\n%s", found.Rule, found.Text, strings.Join(found.Lines, "\n"))
				}
				return
			}
			if len(v.Findings) != 1 || v.Findings[0].Rule != one.rule {
				t.Fatalf("found %v, not one %s", v.Findings, one.rule)
			}
		})
	}
}

// A limit that is over is no success, and says so.
func TestUnknown(t *testing.T) {
	s := &script{}
	for i := range 40 {
		s.did(0, 100, i, "semaphore", 4, 1, 0, "take", "ok")
	}
	s.did(101, 102, 1, "semaphore", 4, 0, 3, "available", "ok")
	for i := range 40 {
		s.did(0, 100, i, "semaphore", 40, 0, 0, "set", "fail")
	}
	h, err := newHistory(s.events)
	if err != nil {
		t.Fatal(err)
	}
	v, err := judge(h, options{limit: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Unknown) != 1 || len(v.Findings) != 0 {
		t.Fatalf("unknown %d, found %d", len(v.Unknown), len(v.Findings))
	}
}

// A call that the judge has no model of is an error, not a success.
func TestUnknownCall(t *testing.T) {
	s := &script{}
	s.did(0, 1, 1, "lock", 0, 0, 0, "borrow", "ok")
	h, err := newHistory(s.events)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := judge(h, options{limit: time.Minute}); err == nil {
		t.Fatal("it was accepted")
	}
}

func TestPicture(t *testing.T) {
	s := &script{}
	s.take(0, 2, 1, 100, event{})
	s.take(3, 5, 2, 100, event{})
	h, err := newHistory(s.events)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	v, err := judge(h, options{limit: time.Minute, pictures: folder})
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(folder, "violation-a.html"))
	if err != nil {
		t.Fatal(err)
	}
	if v.Findings[0].Picture != filepath.Join(folder, "violation-a.html") || !strings.Contains(string(page), "2/2 takes") {
		t.Fatalf("no picture of it: %s", v.Findings[0].Picture)
	}
}
