package main

import (
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// wander makes a history of one lock that is right, or nearly so: one order of calls, which each take some time.
func wander(random *rand.Rand) *script {
	s := &script{}
	type inside struct {
		p, op     int
		at, until float64
		shared    bool
	}
	var held []inside
	now, token := 10.0, 0
	some := func() float64 { return float64(random.Intn(4)) }
	// Too early, now and then.
	wrong := func() float64 {
		if random.Intn(30) == 0 {
			return 8
		}
		return 0
	}
	for range 30 {
		now += 1 + some()
		alone := len(held) == 0
		shared := random.Intn(3) == 0
		for _, one := range held {
			shared = shared && one.shared
		}
		switch {
		case alone || (shared && random.Intn(2) == 0):
			one := event{Shared: shared}
			if !shared && random.Intn(2) == 0 {
				token++
				if random.Intn(60) > 0 {
					one.Token = fmt.Sprint(100 + token)
				} else {
					one.Token = fmt.Sprint(99 + token)
				}
			}
			until := now - 2 + 10*some()
			p := 1 + random.Intn(4)
			early := wrong()
			at := now + some() - early
			op := s.take(now-some()-early, at, p, until, one)
			held = append(held, inside{p, op, at, until, shared})
		default:
			i := random.Intn(len(held))
			one := held[i]
			held = append(held[:i:i], held[i+1:]...)
			// A client releases what it knows of.
			from := max(one.at, now-some())
			switch {
			case random.Intn(4) == 0:
				now = max(now, one.until)
				s.release(max(from, now), now+4, one.p, one.op, "fail", "lost")
			case random.Intn(6) == 0:
				s.release(from, from+20, one.p, one.op, "info", "CONNECTION")
			default:
				s.release(from, max(from, now+some()), one.p, one.op, "ok", "")
			}
		}
	}
	return s
}

// Where the calls are cut decides nothing.
func TestCuts(t *testing.T) {
	results := map[porcupine.CheckResult]int{}
	cuts := 0
	for seed := range 1_500 {
		random := rand.New(rand.NewSource(int64(seed)))
		s := wander(random)
		h, err := newHistory(s.events)
		if err != nil {
			t.Fatal(err)
		}
		part, err := readLocks(h, "a", h.calls)
		if err != nil {
			t.Fatal(err)
		}
		whole := part.check(window{ops: part.ops, start: part.start}, time.Minute)
		results[whole]++
		for _, least := range []int{1, 7} {
			windows := part.cut(least, part.gaps())
			cuts += len(windows) - 1
			result := porcupine.Ok
			for _, one := range windows {
				if part.check(one, time.Minute) != porcupine.Ok {
					result = porcupine.Illegal
				}
			}
			if result != whole {
				t.Fatalf("seed %d: %s in windows of %d, %s as a whole", seed, result, least, whole)
			}
		}
		if whole == porcupine.Illegal {
			small := part.smallest(window{ops: part.ops, start: part.start}, part.gaps(), time.Minute)
			if part.check(small, time.Minute) != porcupine.Illegal {
				t.Fatalf("seed %d: the smallest piece is not wrong", seed)
			}
		}
	}
	t.Logf("%v, %d cuts", results, cuts)
	if results[porcupine.Ok] < 300 || results[porcupine.Illegal] < 300 || cuts < 10_000 {
		t.Fatalf("these histories prove little: %v, %d cuts", results, cuts)
	}
}
