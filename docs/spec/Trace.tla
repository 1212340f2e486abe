------------------------------- MODULE Trace -------------------------------
(***************************************************************************)
(* Whether what the simulation has noted is a behaviour of Lock.tla.       *)
(*                                                                         *)
(* TLC reads traces (module TraceData, which the test writes) and looks    *)
(* for a way through each: one event after the other, each by the action   *)
(* of Lock.tla that explains it. What leaves no event (a client decides to *)
(* attempt, to undo, to give up) is a step of its own, and is only tried   *)
(* where the next event needs it. A trace whose last event nobody reaches  *)
(* is refused.                                                             *)
(*                                                                         *)
(* A tick is a millisecond here.                                           *)
(***************************************************************************)
EXTENDS Lock, TraceData, TLC

VARIABLES
  trace,   \* its number
  at,      \* the number of the next event
  now,     \* the time, in ms of the world
  inside   \* threads whose caller works under the lock

tvars == <<vars, trace, at, now, inside>>

(***************************************************************************)
(* What is put in the place of definitions of Lock.tla (see Trace.cfg).    *)
(***************************************************************************)

\* The process of a thread of the traces.
TraceProcessOf(t) == ProcessOfThread[t]

\* A command waits until its client writes it, which is an event.
TraceSendOn(links, l, c) == [links EXCEPT ![l].again = Append(@, c)]

\* Lib stops to believe a little earlier (confirmedUntil), by clocks that drift and timers that are late. Here it must have
\* done so by the end of the lease, counted from when the command was written. Slack: how much earlier it may be.
TraceTrust(lease) == lease

\* A key is there until its last millisecond is over.
TraceAges(r, by) == IF r.ttl < by THEN FreeWith(r.token) ELSE [r EXCEPT !.ttl = @ - by]

Plenty == 100000
TraceBudget == [calls |-> Plenty, breaks |-> Plenty, quits |-> Plenty, cuts |-> 0, renewals |-> Plenty,
                detaches |-> Plenty, crashes |-> 0, failovers |-> Plenty, extends |-> Plenty, shutdowns |-> 0]

(***************************************************************************)
(* The next event                                                          *)
(***************************************************************************)
Events == Traces[trace]
More == at <= Len(Events)
E == Events[at]
Due == More /\ E.at = now
Is(event) == Due /\ E.event = event

\* Whether a command is the one of the event.
Fits(c) == /\ c.kind = E.kind
           /\ c.owner = E.owner
           /\ c.count = E.count \/ c.kind \in {"renew", "move"}
           /\ c.lease = E.lease
           /\ c.heir = E.heir

L == <<E.process, "main">>
Consumed == at' = at + 1 /\ UNCHANGED <<trace, now>>
Silent == UNCHANGED <<trace, at, now, inside>>

(***************************************************************************)
(* Events                                                                  *)
(***************************************************************************)

\* A command as it is written: an extension that is sent again sets what is left of its lease, and so does a release
\* that leaves holds. (Lock.tla has the first alone.)
Written(c) ==
  IF /\ c.by = "extend" \/ (c.kind = "release" /\ c.count > 0)
     /\ E.lease > 0 /\ E.lease <= c.lease
  THEN [Fresh(c) EXCEPT !.lease = E.lease]
  ELSE c

\* A client writes a command.
Sends ==
  /\ Is("send")
  /\ link[L].up
  /\ \E i \in 1..Len(link[L].again) :
       /\ Fits(Written(link[L].again[i]))
       /\ link' = [link EXCEPT ![L].again = SubSeq(@, 1, i - 1) \o SubSeq(@, i + 1, Len(@)),
                               ![L].pipe = Append(@, Written(link[L].again[i]))]
  /\ UNCHANGED <<redis, replica, thread, late, undo, ears, ticket, left, excused, ghost, highest, inside>>
  /\ Consumed

\* The server runs a command, and answers what the specification says.
Runs ==
  /\ Is("run")
  /\ ~E.late
  /\ link[L].up /\ link[L].pipe # <<>> /\ Fits(Head(link[L].pipe))
  /\ ServerRuns(L)
  /\ LET a == link'[L].out[Len(link'[L].out)] IN a.result = E.result /\ (E.kind = "acquire" => a.n = E.n)
  /\ Consumed
  /\ UNCHANGED inside

\* It runs one of a connection that its client has given up. All tickets have one name here: what comes late may concern an
\* earlier ticket, which is gone.
RunsLater ==
  /\ Is("run")
  /\ E.late
  /\ \E c \in late :
       /\ Fits(c)
       /\ \/ Run(redis, c).result = E.result /\ RunsLate(c)
          \/ /\ c.owner = Ticket /\ E.result = "gone"
             /\ late' = late \ {c}
             /\ UNCHANGED <<redis, replica, thread, link, undo, ears, ticket, left, excused, ghost, highest>>
  /\ Consumed
  /\ UNCHANGED inside

\* The client reads an answer.
Reads ==
  /\ Is("read")
  /\ link[L].up /\ link[L].out # <<>> /\ Fits(Head(link[L].out).cmd)
  /\ Answered(L)
  /\ Consumed
  /\ UNCHANGED inside

\* The client learns that a connection is gone. What the server had not read may come late.
Closes ==
  /\ Is("close")
  /\ IF link[L].up
     THEN Breaks(L) /\ (link[L].pipe # <<>> => late' # late)
     ELSE UNCHANGED vars
  /\ Consumed
  /\ UNCHANGED inside

\* A caller begins to work under the lock, and ends; or learns that it has lost it.
Enters ==
  /\ Is("enter")
  /\ Believes(E.owner)
  /\ inside' = inside \cup {E.owner}
  /\ UNCHANGED vars
  /\ Consumed

LeavesIt ==
  /\ Is("leave")
  /\ inside' = inside \ {E.owner}
  /\ UNCHANGED vars
  /\ Consumed

\* A call has ended without the lock.
Quits ==
  /\ Is("quit")
  /\ thread[E.owner].call \in {"idle", "passed", "covered"}
  /\ UNCHANGED <<vars, inside>>
  /\ Consumed

\* The master has died. Its successor has what the specification says, as it was at some moment of the past.
Fails ==
  /\ Is("failover")
  /\ FailsOver
  /\ redis'.owner = E.owner /\ redis'.holds = E.holds /\ redis'.ttl = E.ttl
  /\ Consumed
  /\ UNCHANGED inside

\* The last event: until then nothing more has happened.
Stays ==
  /\ Is("end")
  /\ UNCHANGED <<vars, inside>>
  /\ Consumed

(***************************************************************************)
(* Steps that leave no event                                               *)
(***************************************************************************)
\* Whether the call of a thread ends without the lock at this moment.
QuitsNow(t) == \E i \in at..Len(Events) : Events[i].at = now /\ Events[i].event = "quit" /\ Events[i].owner = t

\* Who waits behind whom, and when a waiter looks again, is not checked here (it is in WakeUp, Leave and Death): a call may
\* begin to wait without an attempt, and attempt at any time.
\* The lease that an heir asks for, which works from now on: that of the command that tells Redis. There may be none: it
\* passes the lock on before. Then its lease decides nothing.
LeaseOf(heir) ==
  LET moves(i) == Events[i].event = "send" /\ Events[i].kind = "move" /\ Events[i].heir = heir
      some == {i \in at..Len(Events) : moves(i) \/ (Events[i].event = "leave" /\ Events[i].owner = heir)}
      next == CHOOSE i \in some : \A j \in some : i <= j
  IN IF some = {} \/ ~moves(next) THEN Late ELSE Events[next].lease

Looks(t, call, lease) ==
  /\ thread[t].call \in {"idle", "attempt", "queued", "subscribe", "asleep"}
  /\ thread[t].call # call \/ thread[t].lease # lease
  /\ thread' = [thread EXCEPT ![t].call = call, ![t].lease = lease]
  /\ UNCHANGED <<redis, replica, link, late, undo, ears, ticket, left, excused, ghost, highest>>

\* A call that has begun as a re-entry asks for as many holds as then, also when the others have been lost meanwhile. It
\* gets one.
AttemptsAsBefore(t) ==
  /\ thread[t].holds = 0 /\ E.count <= MaxHolds
  /\ Settled(t)
  /\ link' = Send(Main(t), [Acquire(t, thread[t].lease) EXCEPT !.count = E.count])
  /\ thread' = [thread EXCEPT ![t].call = "asked", ![t].woken = FALSE]
  /\ UNCHANGED <<redis, replica, late, undo, ears, ticket, left, excused, ghost, highest>>

\* In lib each call that may have left something has an undo of its own, here each thread has one: another may follow. By
\* the same connection also before the one before is answered.
Behind(t) == TRUE =
  \A c \in UnderWay(Main(t)) : c.kind = "renew" \/ c.by \in {"dropped", "undo", "extend"} \/ t \notin {c.owner, c.heir}
UndoesAgain(t) ==
  /\ ~undo[t].due \/ Believes(t) \/ ~Settled(t)
  /\ thread[t].call = "idle" /\ thread[t].lease > 0
  /\ E.count = thread[t].holds /\ (E.count = 0 \/ undo[t].due)
  /\ Behind(t)
  /\ link' = Send(Main(t), Command("release", t, t, Nobody, E.count, E.lease, "undo"))
  /\ UNCHANGED <<redis, replica, thread, late, undo, ears, ticket, left, excused, ghost, highest>>

\* And a release may.
UnlocksBehind(t) ==
  /\ thread[t].call = "idle" /\ thread[t].as = t /\ thread[t].holds = 1 /\ E.count = 0
  /\ ~Settled(t) /\ Behind(t)
  /\ link' = Send(Main(t), Command("release", t, t, Nobody, 0, E.lease, "call"))
  /\ thread' = Leaver(thread, t)
  /\ UNCHANGED <<redis, replica, late, undo, ears, ticket, left, excused, ghost, highest>>

\* localHandOver. Threads of the same process that do not work under the lock; who may get it.
Locally == Local[trace]
Here(t) == {u \in In(ProcessOf(t)) : u \notin inside}
Ready(heir, lease) == thread[heir].call = "asleep" /\ thread[heir].lease = lease

\* A thread gets the lock from another one: while a command of their process is under way, or before that is written.
GetsLocally ==
  /\ Locally /\ Is("enter") /\ ~Believes(E.owner)
  /\ LET lease == LeaseOf(E.owner) IN
     IF ~Ready(E.owner, lease) THEN Looks(E.owner, "asleep", lease)
     ELSE \E u \in Here(E.owner) : HandsOverLocally(u, E.owner)
  /\ Silent

\* A thread has given the lock back, while a command of its process is under way.
GivesUpLocally ==
  /\ Locally /\ (Is("read") \/ Is("send")) /\ E.kind \in {"move", "release"} /\ E.owner # Ticket
  /\ \E u \in Here(E.owner) : thread[u].as # u /\ Unlocks(u, 0)
  /\ Silent

\* What the replica gets, and keeps until it takes over. Only the last time before that matters, and only what its clients
\* find then.
Copies ==
  /\ at > 1 /\ Events[at - 1].event = "run"
  /\ LET some == {i \in at..Len(Events) : Events[i].event = "failover"}
         found == Events[CHOOSE i \in some : \A j \in some : i <= j]
         by == found.at - now
     IN /\ some # {}
        /\ IF found.owner = Nobody THEN redis.owner = Nobody \/ redis.ttl < by
           ELSE redis.owner = found.owner /\ redis.holds = found.holds /\ redis.ttl - by = found.ttl
  /\ Replicates
  /\ Silent

\* A deadline passes, of a thread whose caller does not work under the lock (any more).
Over(t) == Believes(t) /\ t \notin inside /\ thread[t].until <= Slack

\* What a client decides on while the connection is down is written when that is up, also if the hold has been lost by
\* then: a renewal, or the undo of an inner hold.
NextOf(t) ==
  LET some == {i \in at..Len(Events) : Events[i].event = "send" /\ Events[i].owner = t}
  IN IF some = {} THEN E ELSE Events[CHOOSE i \in some : \A j \in some : i <= j]
Parks(t) ==
  LET next == NextOf(t) IN
  /\ Believes(t) /\ thread[t].as = t /\ thread[t].call = "idle" /\ ~link[Main(t)].up
  /\ Over(t) \/ (Is("leave") /\ E.owner = t)
  /\ \A c \in Range(link[Main(t)].again) : c.thread # t
  /\ next.event = "send"
  /\ \/ next.kind = "renew" /\ UNCHANGED undo
     \/ next.kind = "release" /\ next.count = thread[t].holds /\ undo[t].due
        /\ undo' = [undo EXCEPT ![t].due = FALSE]
  /\ link' = Send(Main(t), Command(next.kind, t, t, Nobody, IF next.kind = "renew" THEN thread[t].since ELSE next.count,
                                   next.lease, IF next.kind = "renew" THEN "call" ELSE "undo"))
  /\ UNCHANGED <<redis, replica, thread, late, ears, ticket, left, excused, ghost, highest>>

DecidesEarly == More /\ (\E t \in Threads : Parks(t)) /\ Silent

\* A client decides on the command that it writes next.
Decides ==
  /\ Is("send")
  /\ \/ ~link[L].up /\ Reconnects(L)
     \/ /\ link[L].up
        /\ ~\E i \in 1..Len(link[L].again) : Fits(Written(link[L].again[i]))
        /\ LET t == E.owner IN
           CASE E.kind = "acquire" ->
                  IF thread[t].call = "idle" THEN Calls(t, E.lease)
                  ELSE IF thread[t].call = "attempt"
                  THEN IF E.count > thread[t].holds + 1 THEN AttemptsAsBefore(t) ELSE Attempts(t)
                  ELSE Looks(t, "attempt", E.lease)
             [] E.kind = "release" ->
                  \* whoever works under the lock gives back no more than what it has acquired in that work
                  \/ ((t \notin inside \/ E.count > 0) /\ (Unlocks(t, E.lease) \/ UnlocksBehind(t)))
                  \/ (E.count = thread[t].holds /\ E.lease > 0 /\ Extends(t, E.lease))
                  \/ Undoes(t, E.lease) \/ UndoesAgain(t)
                  \/ \E u \in Here(t) : thread[u].as = t /\ GivesBack(u)
             [] E.kind = "move" /\ E.owner = Ticket -> Attaches(E.heir, E.lease)
             [] E.kind = "move" /\ E.heir = Ticket -> Detaches(t, E.lease) \/ Undoes(t, E.lease)
             [] E.kind = "move" /\ Ticket \notin {E.owner, E.heir} ->
                  IF ~Ready(E.heir, E.lease) THEN Looks(E.heir, "asleep", E.lease)
                  ELSE HandsOver(t, E.heir)
                       \/ (Locally /\ \E u \in Here(E.heir) : thread[u].as = t /\ HandsOverLocally(u, E.heir))
             [] E.kind = "renew" -> Renews(t, E.lease)
  /\ Silent

\* A call ends without the lock: the next event says so, or is the undo of what it has sent.
Stops ==
  /\ Is("quit") \/ (Is("send") /\ E.kind = "release")
  /\ QuitsNow(E.owner)
  /\ GivesUp(E.owner)
  /\ Silent

\* In lib each hold has a lease of its own. Here all holds of a thread have one. Those around the released one may be over:
\* then it leaves none of them. (`isHeld` says so at once, and their signal by a timer, up to a millisecond later.)
Outlived ==
  /\ Is("send") /\ E.kind = "release"
  /\ thread[E.owner].holds > E.count + 1
  /\ thread' = [thread EXCEPT ![E.owner].holds = @ - 1]
  /\ inside' = inside \ {E.owner}
  /\ undo' = StartUndo(undo, E.owner, thread[E.owner].lease, Nobody)
  /\ UNCHANGED <<redis, replica, link, late, ears, ticket, left, excused, ghost, highest, trace, at, now>>

Ends ==
  /\ More
  /\ \E t \in Threads :
       /\ Over(t)
       /\ \/ E.at > now /\ thread[t].until = 0
          \/ (Is("send") \/ Is("read")) /\ (E.owner = t \/ (thread[t].as # t /\ E.process = ProcessOf(t)))
       /\ Expires(t)
  /\ Silent

\* Time goes on: to the next event, to a deadline, or to the end of the lease in Redis. Whoever works under the lock
\* believes in it by then, and a hold that no call owns is gone in time.
TimePasses ==
  /\ More
  /\ E.at > now
  /\ \A t \in inside : Believes(t)
  /\ LET soon == {thread[t].until : t \in {u \in Threads \ inside : Believes(u)}}
                   \cup ({redis.ttl} \ {0}) \cup {E.at - now}
         by == CHOOSE n \in soon : \A m \in soon : n <= m
     IN /\ by > 0
        /\ now' = now + by
        /\ Passes(by)
  /\ ghost' <= GhostBound
  /\ UNCHANGED <<trace, at, inside>>

TraceInit ==
  /\ Init
  /\ trace \in 1..Len(Traces)
  /\ at = 1
  /\ now = 0
  /\ inside = {}

TraceNext ==
  \/ Sends \/ Runs \/ RunsLater \/ Reads \/ Closes \/ Enters \/ LeavesIt \/ Quits \/ Fails \/ Stays
  \/ Decides \/ GetsLocally \/ GivesUpLocally \/ Copies \/ DecidesEarly \/ Stops \/ Outlived \/ Ends \/ TimePasses

TraceSpec == TraceInit /\ [][TraceNext]_tvars

(***************************************************************************)
(* What is printed: how far each trace came. One that came to its end is   *)
(* not looked at any more.                                                 *)
(***************************************************************************)
ASSUME \A i \in 1..Len(Traces) : TLCSet(i, 0)

Goes ==
  /\ NoTwoBelievers
  /\ TLCGet(trace) <= Len(Events)
  /\ at > TLCGet(trace) => TLCSet(trace, at) /\ PrintT(<<"reached", trace, at>>)
=============================================================================
