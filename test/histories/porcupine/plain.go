package main

import "fmt"

// slackUs is what a lease may seem to last longer by: Redis counts in ms, and rounds.
const slackUs = 20_000

// plainRules are those that need no order of calls: what must never be in a history at all.
func plainRules(h *history) []finding {
	var found []finding
	ended := map[int]bool{}
	for _, note := range h.notes {
		switch note.Type {
		case "wrong":
			found = append(found, finding{Rule: "noticed", Text: note.What})
		case "ended":
			ended[note.P] = true
		}
	}
	takes := map[*call]int{}
	lease := map[*call]int64{}
	for _, c := range h.calls {
		if c.Call == "take" || c.Call == "attach" {
			thread := h.root(c)
			takes[thread]++
			lease[thread] = max(lease[thread], c.Lease)
		}
	}
	for _, c := range h.calls {
		if c.end == nil {
			if ended[c.P] {
				found = append(found, about(c, "no end", "the call has no end, although its process waited for it"))
			}
			continue
		}
		if c.end.Unexpected {
			found = append(found, about(c, "error", "no fault explains: "+c.end.Why))
		}
		if c.Lease > 0 && (c.Call == "take" || c.Call == "attach") && c.ok() {
			thread := h.root(c)
			found = append(found, beliefs(c, lease[thread], takes[thread] == 1)...)
		}
		if c.Call == "release" && c.ok() && c.Of != nil {
			of := h.byID[callID{c.P, *c.Of}]
			// A permit that is over can be given back as long as nobody else got it; a reader is there as long as others read.
			alone := of != nil && of.ok() && of.Permits == 0 && !of.Shared && of.Lease > 0 && !of.Renewed && takes[h.root(of)] == 1
			if alone && c.At > of.end.At+of.Lease*1_000+slackUs {
				found = append(found, about(c, "lease", fmt.Sprintf("released %d ms after a lease of %d ms began",
					(c.At-of.end.At)/1_000, of.Lease)))
			}
		}
	}
	return found
}

// beliefs: nobody counts on more than a lease from now on, and without a watchdog from when it was taken.
func beliefs(c *call, most int64, alone bool) []finding {
	from := func(at int64) int64 {
		if c.Renewed || !alone {
			return at
		}
		return c.end.At
	}
	for _, one := range append([]event{*c.end}, c.looks...) {
		if one.Until != nil && *one.Until > from(one.At)+most*1_000+slackUs {
			return []finding{about(c, "lease", fmt.Sprintf("believed in for %d ms, with leases of at most %d ms",
				(*one.Until-from(one.At))/1_000, most))}
		}
	}
	return nil
}

func about(c *call, rule, text string) finding {
	return finding{Rule: rule, Name: c.Name, Kind: c.Kind, Text: fmt.Sprintf("process %d, call %d (%s): %s", c.P, c.Op, c.Call, text)}
}
