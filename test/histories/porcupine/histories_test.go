package main

import "strings"

const (
	right = ""
	order = "order"
)

// Each history is wrong by the rule that it names, or right.
var histories = []struct {
	name string
	rule string
	make func(s *script)
}{
	{"mutex: one after the other", right, func(s *script) {
		a := s.take(0, 2, 1, 100, event{})
		s.release(10, 12, 1, a, "ok", "")
		b := s.take(1, 11, 2, 100, event{})
		s.release(20, 22, 2, b, "ok", "")
	}},
	{"mutex: two holders", order, func(s *script) {
		a := s.take(0, 2, 1, 100, event{})
		b := s.take(3, 5, 2, 100, event{})
		s.release(10, 12, 1, a, "ok", "")
		s.release(10, 12, 2, b, "ok", "")
	}},
	{"mutex: two holders far behind what was right", order, func(s *script) {
		for i := range 2_000 {
			at := float64(10 * i)
			a := s.take(at, at+2, 1, at+100, event{})
			s.release(at+4, at+5, 1, a, "ok", "")
		}
		s.take(20_001, 20_002, 1, 20_100, event{})
		s.take(20_003, 20_005, 2, 20_100, event{})
	}},
	{"mutex: the lease of one who was killed is over", right, func(s *script) {
		s.take(0, 2, 1, 50, event{})
		s.note(10, 1, "killed")
		b := s.take(3, 51, 2, 100, event{})
		s.release(60, 62, 2, b, "ok", "")
	}},
	{"mutex: one who was killed is robbed", order, func(s *script) {
		s.take(0, 2, 1, 50, event{})
		s.note(10, 1, "killed")
		s.take(3, 49, 2, 100, event{})
	}},
	{"mutex: a release without an answer may be done at any time", right, func(s *script) {
		a := s.take(0, 2, 1, 5_000, event{})
		s.release(10, 500, 1, a, "info", "CONNECTION")
		s.take(3, 30, 2, 100, event{})
	}},
	{"mutex: a release without an answer is not done before it was asked for", order, func(s *script) {
		a := s.take(0, 2, 1, 5_000, event{})
		s.take(3, 9, 2, 100, event{})
		s.release(10, 500, 1, a, "info", "CONNECTION")
	}},
	{"mutex: an acquisition without an answer is no hold", right, func(s *script) {
		op := s.invoke(0, 1, event{Call: "take", Kind: "lock", Name: "a", Lease: 100})
		s.end(20, 1, op, "info", event{Why: "CONNECTION"})
		s.take(3, 5, 2, 100, event{})
	}},
	{"mutex: lost before the deadline", order, func(s *script) {
		a := s.take(0, 2, 1, 100, event{})
		s.look(50, 1, a, "lost", 0)
	}},
	{"mutex: lost after the deadline", right, func(s *script) {
		a := s.take(0, 2, 1, 100, event{})
		s.look(101, 1, a, "lost", 0)
		s.release(102, 103, 1, a, "fail", "lost")
	}},
	{"mutex: what is held cannot be released", order, func(s *script) {
		a := s.take(0, 2, 1, 100, event{})
		s.release(50, 60, 1, a, "fail", "notOwner")
	}},
	{"mutex: released twice", order, func(s *script) {
		a := s.take(0, 2, 1, 100, event{})
		s.release(10, 12, 1, a, "ok", "")
		s.release(20, 22, 1, a, "ok", "")
	}},
	{"mutex: released by a stranger", order, func(s *script) {
		s.take(0, 2, 1, 100, event{})
		s.release(10, 12, 2, 0, "ok", "")
	}},
	{"mutex: refused to a stranger", right, func(s *script) {
		s.take(0, 2, 1, 100, event{})
		s.release(10, 12, 2, 0, "fail", "notOwner")
	}},
	{"mutex: somebody else had it meanwhile, and it was released nevertheless", order, func(s *script) {
		a := s.take(0, 2, 1, 10, event{})
		b := s.take(3, 15, 2, 100, event{})
		s.release(16, 17, 2, b, "ok", "")
		s.release(18, 20, 1, a, "ok", "")
	}},
	{"mutex: released long after its lease", "lease", func(s *script) {
		a := s.take(0, 2, 1, 10, event{})
		s.release(500, 501, 1, a, "ok", "")
	}},
	{"mutex: believed in past the lease", "lease", func(s *script) {
		a := s.take(0, 2, 1, 100, event{})
		s.look(90, 1, a, "held", 300)
	}},
	{"mutex: a renewed one is believed in for longer", right, func(s *script) {
		a := s.take(0, 2, 1, 100, event{Renewed: true})
		s.look(90, 1, a, "held", 180)
	}},
	{"mutex: what was lost comes back", order, func(s *script) {
		a := s.take(0, 2, 1, 100, event{Renewed: true})
		s.look(101, 1, a, "lost", 0)
		s.look(110, 1, a, "held", 180)
	}},
	{"mutex: the deadline passes while a release is under way", right, func(s *script) {
		a := s.take(0, 2, 1, 100, event{})
		s.release(50, 120, 1, a, "fail", "lost")
		s.take(1, 80, 2, 200, event{})
	}},
	{"mutex: a release that finds it lost before the deadline", order, func(s *script) {
		a := s.take(0, 2, 1, 100, event{})
		s.release(50, 90, 1, a, "fail", "lost")
		s.take(1, 80, 2, 200, event{})
	}},
	{"mutex: lost for its client, and there for Redis a little longer", right, func(s *script) {
		a := s.take(0, 2, 1, 100, event{})
		s.look(100, 1, a, "lost", 0)
		s.count(101, 103, 1, a, 1, true)
	}},
	{"read/write: a reader whose lease is over is there as long as others read", right, func(s *script) {
		a := s.take(0, 2, 1, 50, event{Shared: true})
		s.take(1, 3, 2, 400, event{Shared: true})
		s.release(300, 301, 1, a, "ok", "")
	}},
	{"a call has no end", "no end", func(s *script) {
		s.invoke(0, 1, event{Call: "take", Kind: "lock", Name: "a", Lease: 100})
		s.note(100, 1, "ended")
	}},
	{"an error that no fault explains", "error", func(s *script) {
		op := s.invoke(0, 1, event{Call: "take", Kind: "lock", Name: "a", Lease: 100})
		s.end(20, 1, op, "info", event{Why: "TypeError", Unexpected: true})
	}},
	{"somebody has noticed something", "noticed", func(s *script) {
		s.take(0, 2, 1, 100, event{})
		s.note(100, 0, "wrong")
	}},
	{"re-entrant: a thread takes it once more", right, func(s *script) {
		a := s.take(0, 2, 1, 100, event{})
		b := s.take(3, 5, 1, 100, event{Within: &a})
		s.count(6, 8, 1, b, 2, false)
		s.release(10, 12, 1, b, "ok", "")
		s.count(13, 14, 1, a, 1, false)
		s.release(15, 16, 1, a, "ok", "")
		s.count(17, 18, 1, a, 0, true)
	}},
	{"re-entrant: somebody gets in between the two releases", order, func(s *script) {
		a := s.take(0, 2, 1, 100, event{})
		b := s.take(3, 5, 1, 100, event{Within: &a})
		s.release(10, 12, 1, b, "ok", "")
		s.take(11, 14, 2, 100, event{})
		s.release(15, 16, 1, a, "ok", "")
	}},
	{"re-entrant: a count is too low", order, func(s *script) {
		a := s.take(0, 2, 1, 100, event{})
		b := s.take(3, 5, 1, 100, event{Within: &a})
		s.count(6, 8, 1, b, 1, false)
	}},
	{"re-entrant: a count is too high", order, func(s *script) {
		a := s.take(0, 2, 1, 100, event{})
		s.count(6, 8, 1, a, 2, false)
	}},
	{"re-entrant: held, although it was released", order, func(s *script) {
		a := s.take(0, 2, 1, 100, event{})
		s.release(3, 4, 1, a, "ok", "")
		s.count(6, 8, 1, a, 1, true)
	}},
	{"re-entrant: two branches are inside at a time", order, func(s *script) {
		a := s.take(0, 2, 1, 100, event{})
		b := s.take(3, 5, 1, 100, event{Within: &a})
		c := s.take(3, 6, 1, 100, event{Within: &a})
		s.release(10, 12, 1, b, "ok", "")
		s.release(10, 12, 1, c, "ok", "")
	}},
	{"fenced: tokens grow", right, func(s *script) {
		a := s.take(0, 2, 1, 100, event{Token: "9"})
		s.release(3, 5, 1, a, "ok", "")
		s.take(3, 8, 2, 100, event{Token: "10"})
	}},
	{"fenced: a token goes back", order, func(s *script) {
		a := s.take(0, 2, 1, 100, event{Token: "10"})
		s.release(3, 5, 1, a, "ok", "")
		s.take(6, 8, 2, 100, event{Token: "9"})
	}},
	{"fenced: a token repeats, far behind", order, func(s *script) {
		for i := range 1_000 {
			at := float64(10 * i)
			a := s.take(at, at+2, 1, at+100, event{Token: "7" + strings.Repeat("0", i/100) + "5"})
			s.release(at+4, at+5, 1, a, "ok", "")
		}
	}},
	{"read/write: readers share", right, func(s *script) {
		a := s.take(0, 2, 1, 100, event{Shared: true})
		b := s.take(1, 3, 2, 100, event{Shared: true})
		s.release(10, 12, 1, a, "ok", "")
		s.release(13, 14, 2, b, "ok", "")
		s.take(2, 15, 3, 100, event{})
	}},
	{"read/write: a writer beside a reader", order, func(s *script) {
		s.take(0, 2, 1, 100, event{Shared: true})
		b := s.take(1, 3, 2, 100, event{Shared: true})
		s.release(4, 5, 2, b, "ok", "")
		s.take(2, 15, 3, 100, event{})
	}},
	{"read/write: a reader beside a writer", order, func(s *script) {
		s.take(0, 2, 1, 100, event{})
		s.take(1, 3, 2, 100, event{Shared: true})
	}},
	{"read/write: a writer reads, and stays as a reader", right, func(s *script) {
		a := s.take(0, 2, 1, 100, event{})
		s.take(3, 4, 1, 100, event{Shared: true, Within: &a})
		s.release(5, 6, 1, a, "ok", "")
		s.take(3, 8, 2, 100, event{Shared: true})
	}},
	{"read/write: a reader becomes a writer", order, func(s *script) {
		a := s.take(0, 2, 1, 100, event{Shared: true})
		s.take(3, 4, 1, 100, event{Within: &a})
	}},
	{"tickets: a hold goes from one to the next", right, func(s *script) {
		a := s.take(0, 2, 1, 100, event{Kind: "ticket lock"})
		s.detach(10, 12, 1, a, "t", 100)
		b := s.attach(20, 22, 2, "t", "ok", 900)
		s.attach(21, 30, 3, "t", "fail", 0)
		s.release(40, 42, 2, b, "ok", "")
		s.take(1, 43, 3, 100, event{Kind: "ticket lock"})
	}},
	{"tickets: used twice", order, func(s *script) {
		a := s.take(0, 2, 1, 100, event{Kind: "ticket lock"})
		s.detach(10, 12, 1, a, "t", 100)
		b := s.attach(20, 22, 2, "t", "ok", 900)
		s.release(23, 24, 2, b, "ok", "")
		s.attach(30, 32, 3, "t", "ok", 900)
	}},
	{"tickets: somebody gets in while the lock waits for its ticket", order, func(s *script) {
		a := s.take(0, 2, 1, 100, event{Kind: "ticket lock"})
		s.detach(10, 12, 1, a, "t", 100)
		s.take(1, 20, 3, 100, event{Kind: "ticket lock"})
	}},
	{"tickets: a ticket whose lease is over", right, func(s *script) {
		a := s.take(0, 2, 1, 100, event{Kind: "ticket lock"})
		s.detach(10, 12, 1, a, "t", 50)
		s.take(1, 51, 3, 100, event{Kind: "ticket lock"})
		s.attach(20, 52, 2, "t", "fail", 0)
	}},
	{"tickets: a good ticket is refused", order, func(s *script) {
		a := s.take(0, 2, 1, 100, event{Kind: "ticket lock"})
		s.detach(10, 12, 1, a, "t", 100)
		s.attach(20, 30, 2, "t", "fail", 0)
	}},
	{"tickets: what became a ticket is released", order, func(s *script) {
		a := s.take(0, 2, 1, 100, event{Kind: "ticket lock"})
		s.detach(10, 12, 1, a, "t", 100)
		s.release(13, 14, 1, a, "ok", "")
	}},
	{"semaphore: as many as there are", right, func(s *script) {
		s.did(0, 1, 1, "semaphore", 4, 0, 0, "set", "ok")
		s.did(0, 2, 2, "semaphore", 4, 0, 0, "set", "fail")
		s.did(3, 4, 1, "semaphore", 4, 2, 0, "take", "ok")
		a := s.did(3, 5, 2, "semaphore", 4, 2, 0, "take", "ok")
		s.did(6, 7, 1, "semaphore", 4, 0, 0, "available", "ok")
		s.release(8, 9, 2, a, "ok", "")
		s.did(10, 11, 1, "semaphore", 4, 0, 2, "available", "ok")
	}},
	{"semaphore: more than there are", order, func(s *script) {
		s.did(0, 1, 1, "semaphore", 4, 0, 0, "set", "ok")
		s.did(3, 4, 1, "semaphore", 4, 2, 0, "take", "ok")
		s.did(3, 5, 2, "semaphore", 4, 2, 0, "take", "ok")
		s.did(3, 6, 2, "semaphore", 4, 1, 0, "take", "ok")
	}},
	{"semaphore: a release without an answer is done once", order, func(s *script) {
		s.did(0, 1, 1, "semaphore", 4, 0, 0, "set", "ok")
		a := s.did(3, 4, 1, "semaphore", 4, 2, 0, "take", "ok")
		s.did(3, 5, 2, "semaphore", 4, 2, 0, "take", "ok")
		s.release(8, 9, 1, a, "info", "CONNECTION")
		s.did(10, 11, 2, "semaphore", 4, 2, 0, "take", "ok")
		s.did(12, 13, 2, "semaphore", 4, 2, 0, "take", "ok")
	}},
	{"semaphore: one before there are any", order, func(s *script) {
		s.did(0, 1, 1, "semaphore", 4, 1, 0, "take", "ok")
		s.did(2, 3, 1, "semaphore", 4, 0, 0, "set", "ok")
	}},
	{"semaphore: set up twice", order, func(s *script) {
		s.did(0, 1, 1, "semaphore", 4, 0, 0, "set", "ok")
		s.did(2, 3, 2, "semaphore", 4, 0, 0, "set", "ok")
	}},
	{"semaphore: one is missing", order, func(s *script) {
		s.did(0, 1, 1, "semaphore", 4, 0, 0, "set", "ok")
		s.did(2, 3, 1, "semaphore", 4, 0, 3, "available", "ok")
	}},
	{"permits: those whose lease is over can be had again", right, func(s *script) {
		leased(s, 60)
	}},
	{"permits: more than there are", order, func(s *script) {
		leased(s, 40)
	}},
	{"permits: released twice", order, func(s *script) {
		s.did(0, 1, 1, "expirable permits", 4, 0, 0, "set", "ok")
		s.take(2, 3, 1, 500, event{Kind: "expirable permits", Permits: 2, Total: 4})
		s.release(4, 5, 1, 2, "ok", "")
		s.did(6, 7, 1, "expirable permits", 4, 2, 0, "release", "ok")
	}},
	{"permits: a release that a fault made the client repeat cannot tell", right, func(s *script) {
		s.did(0, 1, 1, "expirable permits", 4, 0, 0, "set", "ok")
		s.take(2, 3, 1, 500, event{Kind: "expirable permits", Permits: 2, Total: 4})
		s.release(4, 5, 1, 2, "ok", "")
		s.note(6, 0, "fault")
		s.did(6, 9, 1, "expirable permits", 4, 2, 0, "release", "ok")
	}},
	{"tickets: used up by a call that lost the lock before it could say so", right, func(s *script) {
		a := s.take(0, 2, 1, 100, event{Kind: "ticket lock"})
		s.detach(10, 12, 1, a, "t", 2_000)
		s.attach(20, 1_500, 2, "t", "fail", 0)
		s.attach(30, 100, 3, "t", "fail", 0)
	}},
	{"latch: open after three", right, func(s *script) {
		latch(s, 3)
		s.did(20, 21, 2, "latch", 3, 0, 0, "await", "ok")
	}},
	{"latch: opened early", order, func(s *script) {
		latch(s, 2)
		s.did(20, 21, 2, "latch", 3, 0, 0, "await", "ok")
	}},
	{"latch: the third one has no answer, and may have been done", right, func(s *script) {
		latch(s, 2)
		s.did(15, 16, 1, "latch", 3, 0, 0, "down", "")
		s.did(20, 21, 2, "latch", 3, 0, 0, "await", "ok")
	}},
	{"latch: one down is no two", order, func(s *script) {
		latch(s, 1)
		s.did(15, 16, 1, "latch", 3, 0, 0, "down", "info")
		s.did(20, 21, 2, "latch", 3, 0, 0, "await", "ok")
	}},
	{"latch: set anew before it is open", order, func(s *script) {
		latch(s, 1)
		s.did(20, 21, 2, "latch", 3, 0, 0, "set", "ok")
	}},
}

func latch(s *script, downs int) {
	s.did(0, 1, 1, "latch", 3, 0, 0, "set", "ok")
	for i := range downs {
		s.did(float64(2+i), float64(3+i), 1, "latch", 3, 0, 0, "down", "ok")
	}
}

// leased: four of four are out until 50; then there is one more.
func leased(s *script, at float64) {
	s.did(0, 1, 1, "expirable permits", 4, 0, 0, "set", "ok")
	for range 2 {
		s.take(2, 3, 1, 50, event{Kind: "expirable permits", Permits: 2, Total: 4})
	}
	s.take(4, at, 2, 200, event{Kind: "expirable permits", Permits: 1, Total: 4})
}
