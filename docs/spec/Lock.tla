-------------------------------- MODULE Lock --------------------------------
(***************************************************************************)
(* The lock of ioredisson: what Redis stores, what clients send, what they *)
(* believe, and what may go wrong between them.                            *)
(*                                                                         *)
(* Read README.md beside this first: it has a glossary of the symbols.     *)
(* Every action below is one thing that can happen. TLC tries all of them, *)
(* in every order, and checks the properties at the end of this module in  *)
(* every state that it reaches.                                            *)
(*                                                                         *)
(* Time is a number of ticks. Nothing here knows what time it is: whatever *)
(* ends has a number that counts down to 0.                                *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  Threads,      \* who may hold the lock: the owners
  Neighbours,   \* those of them that live in one process; the others have a process each
  Leases,       \* the leases that calls ask for, in ticks
  Remainders,   \* what a release may set as the lease of the holds that it leaves (0: it stays)
  Margin,       \* so much earlier than Redis a client stops to believe, in ticks
  Slack,        \* it may stop so much earlier still (0; traces of real clocks need some)
  MaxDelay,     \* a command, and an answer, is under way for so many ticks at most, while the connection is up
  Late,         \* what a broken connection still delivers comes within so many ticks
  MaxHolds,     \* how often a thread may re-enter
  GhostBound,   \* so many ticks a hold that no call owns may stay
  Waits,        \* FALSE: all calls are tryLock(), which makes one attempt
  SleepsForTtl, \* FALSE: waiters have no timer, so only messages can wake them
  OwnRenewals,  \* TRUE: a watchdog thread renews by a connection of its own
  RelayLeft,    \* localHandOver: so much of the lease must be left; 0: there is no such thing
  RelayAge,     \* localHandOver: so old may the last confirmation be
  Urgent,       \* FALSE: nothing has to happen in time (traces)
  Budget,       \* how often each thing may happen: see Init
  Broken        \* "nothing", or the way in which the lock is broken on purpose

VARIABLES
  redis,     \* the key: owner, holds, ttl, token; back: a failover has brought it back
  replica,   \* what a replica has of it
  thread,    \* what each thread does and believes
  link,      \* the connections: what is under way in each
  late,      \* commands in broken connections, which may still run
  undo,      \* for each owner: what its client still looks for, to take it back
  ears,      \* for each process: whether it is subscribed, and whether a message is on its way
  ticket,    \* what has become of the ticket of a detached hold
  left,      \* how often each thing may still happen
  excused,   \* threads that believe in a hold which a documented exception has taken away
  ghost,     \* for how long Redis has had a hold that no call owns
  highest    \* the fencing token that a caller got last

vars == <<redis, replica, thread, link, late, undo, ears, ticket, left, excused, ghost, highest>>

Nobody == "nobody"
Ticket == "ticket"             \* the owner of a detached hold: no client has it
Owners == Threads \cup {Ticket}

ProcessOf(t) == IF t \in Neighbours THEN "shared" ELSE t
Processes == {ProcessOf(t) : t \in Threads}
In(p) == {t \in Threads : ProcessOf(t) = p}

\* The connection for commands, and the one of the watchdog thread.
Main(t) == <<ProcessOf(t), "main">>
Dog(t) == IF OwnRenewals THEN <<ProcessOf(t), "dog">> ELSE Main(t)
Links == {Main(t) : t \in Threads} \cup {Dog(t) : t \in Threads}

Max(a, b) == IF a > b THEN a ELSE b
Min(a, b) == IF a < b THEN a ELSE b
Less(n, by) == Max(n - by, 0)
Range(seq) == {seq[i] : i \in 1..Len(seq)}

(***************************************************************************)
(* Commands                                                                *)
(*                                                                         *)
(*   acquire   count: the holds that the thread is to have afterwards      *)
(*   release   count: the holds to leave; lease: of those (0: unchanged)   *)
(*   move      gives the last hold of `owner` to `heir`: a hand-over, a    *)
(*             detach, an attach                                           *)
(*   renew     the watchdog; count: which hold it is for                   *)
(*                                                                         *)
(* `thread` is whose command it is, `owner` the name that Redis reads.     *)
(* `by`: "call" has a caller that waits for its answer; "extend" likewise, *)
(* a release that leaves all holds; "relay" confirms local hand-overs;     *)
(* "undo" is sent in the background; nobody waits for a command that is    *)
(* "dropped".                                                              *)
(* `repeat`: it was sent before, and may have run: it takes no new token.  *)
(* (Unless the client may have left a hold there: see Breaks.)             *)
(* `good`: for so long after it was sent its caller may believe in what it *)
(* confirms. It counts from the sending, not from the answer.              *)
(***************************************************************************)
Trust(lease) == IF Broken = "the deadline is not earlier than that of Redis" THEN lease + 1 ELSE lease - Margin

Command(kind, t, owner, heir, count, lease, by) ==
  [kind |-> kind, thread |-> t, owner |-> owner, heir |-> heir, count |-> count, lease |-> lease,
   by |-> by, repeat |-> FALSE, good |-> IF kind = "release" THEN 0 ELSE Less(Trust(lease), 0), age |-> 0]

(***************************************************************************)
(* The server: the four scripts. Each is one step.                         *)
(***************************************************************************)

FreeWith(token) == [owner |-> Nobody, holds |-> 0, ttl |-> 0, token |-> token, back |-> FALSE]
HeldBy(owner, ttl, token) == [owner |-> owner, holds |-> 1, ttl |-> ttl, token |-> token, back |-> FALSE]

Did(r, result, n, told) == [redis |-> r, result |-> result, n |-> n, told |-> told]

Run(r, c) ==
  LET mine == r.owner = c.owner IN
  CASE c.kind = "acquire" ->
         IF r.owner = Nobody
         THEN Did(HeldBy(c.owner, c.lease, r.token + 1), "yes", 1, FALSE)
         ELSE IF mine
         THEN LET more == r.holds < c.count
                  holds == IF more THEN r.holds + 1 ELSE r.holds
                  same == ~more /\ (c.repeat \/ Broken = "a leftover gives its token again")
              IN Did([r EXCEPT !.holds = holds, !.ttl = Max(r.ttl, c.lease), !.back = FALSE,
                               !.token = IF same THEN r.token ELSE r.token + 1], "yes", holds, FALSE)
         ELSE IF Broken = "exclusion broken: whoever asks gets the lock"
         THEN Did(HeldBy(c.owner, c.lease, r.token + 1), "yes", 1, FALSE)
         ELSE Did(r, "no", r.ttl, FALSE)
    [] c.kind = "release" ->
         IF ~mine /\ (r.owner = Nobody \/ Broken # "release without asking for the owner")
         THEN Did(r, "gone", 0, FALSE)
         ELSE LET count == IF Broken = "a release takes one hold off, instead of saying how many are left"
                           THEN r.holds - 1 ELSE c.count
                  ttl == IF c.lease = 0 THEN r.ttl ELSE c.lease
              IN IF count > 0
                 THEN Did([r EXCEPT !.holds = Min(r.holds, count), !.ttl = ttl], "kept", 0,
                          ttl < r.ttl /\ Broken # "nobody hears of a shorter lease")
                 ELSE Did(FreeWith(r.token), "yes", 0, Broken # "a lock is given back without a message to Java")
    [] c.kind = "move" ->
         IF mine \/ (Broken = "a ticket is taken without a look" /\ c.owner = Ticket)
         THEN Did(HeldBy(c.heir, c.lease, IF Broken = "a hand-over takes no token" THEN r.token ELSE r.token + 1),
                  "yes", 1, FALSE)
         ELSE IF r.owner = c.heir
         THEN Did([r EXCEPT !.ttl = Max(r.ttl, c.lease)], "yes", 1, FALSE)
         ELSE Did(r, "gone", 1, FALSE)
    [] c.kind = "renew" ->
         IF mine \/ (Broken = "the watchdog renews what somebody else holds" /\ r.owner # Nobody)
         THEN Did([r EXCEPT !.ttl = Max(r.ttl, c.lease)], "yes", 1, FALSE)
         ELSE Did(r, "gone", 0, FALSE)

\* Everybody who is subscribed gets a message.
Tell(told, e) == [p \in Processes |-> IF told /\ e[p].state = "on" THEN [e[p] EXCEPT !.mail = TRUE] ELSE e[p]]

(***************************************************************************)
(* Connections: `pipe` has what the server has not run yet, `out` what it  *)
(* has answered, both in order; `again` what is to be sent again.          *)
(***************************************************************************)
UnderWay(l) == Range(link[l].pipe) \cup {a.cmd : a \in Range(link[l].out)} \cup Range(link[l].again)

SendOn(links, l, c) ==
  IF links[l].up /\ links[l].again = <<>>
  THEN [links EXCEPT ![l].pipe = Append(@, c)]
  ELSE [links EXCEPT ![l].again = Append(@, c)]
Send(l, c) == SendOn(link, l, c)

\* Whether nothing of a thread is under way but renewals. A call waits for that: an undo must not overtake it.
\* (`TRUE =` here and below: TLC is to evaluate it, and not to try each of its alternatives as a step of its own.)
Settled(t) == TRUE = \A c \in UnderWay(Main(t)) : c.kind = "renew" \/ c.by = "dropped" \/ t \notin {c.owner, c.heir}

\* The same, where extensions of its lease may be under way as well: releases and other extensions go beside them.
Extensions(t) == {c \in UnderWay(Main(t)) : c.by = "extend" /\ c.thread = t}
MayFollow(t) == TRUE =
  \A c \in UnderWay(Main(t)) : c.kind = "renew" \/ c.by \in {"dropped", "extend"} \/ t \notin {c.owner, c.heir}

\* The server runs the next command of a connection.
ServerRuns(l) ==
  /\ link[l].up
  /\ link[l].pipe # <<>>
  /\ LET c == Head(link[l].pipe)
         done == Run(redis, c)
         answer == [cmd |-> [c EXCEPT !.age = 0], result |-> done.result, n |-> done.n, token |-> done.redis.token]
         got == IF c.kind = "move" THEN c.heir ELSE c.thread
     IN /\ redis' = done.redis
        /\ link' = [link EXCEPT ![l].pipe = Tail(@), ![l].out = Append(@, answer)]
        /\ ears' = Tell(done.told, ears)
        \* what it believes from now on is true again (not by a mere look, which sets no lease)
        /\ excused' = IF done.result = "yes" /\ c.kind # "release" /\ c.lease > 0 THEN excused \ {got} ELSE excused
        /\ ghost' = IF done.redis.owner = redis.owner /\ c.kind # "acquire" THEN ghost ELSE 0
  /\ UNCHANGED <<replica, thread, late, undo, ticket, left, highest>>

\* Who believes in a hold of this name, or is about to, since the answer is under way.
Believes(t) == thread[t].holds > 0
Trusting(name) ==
  {t \in Threads : /\ thread[t].as = name
                   /\ Believes(t) \/ \E l \in Links : \E a \in Range(link[l].out) :
                                       a.result = "yes" /\ a.cmd.by # "dropped" /\ name \in {a.cmd.owner, a.cmd.heir}}

\* A command that lay in a broken connection runs late. Nobody reads the answer. A release that is late takes the lock
\* from a thread that has acquired it again, and an extension to a shorter lease shortens a later one: the documented
\* exceptions.
RunsLate(c) ==
  /\ c \in late
  /\ LET done == Run(redis, c)
     IN /\ redis' = done.redis
        /\ ears' = Tell(done.told, ears)
        /\ excused' = IF /\ c.kind \in {"release", "move"}
                         /\ done.redis.owner # redis.owner \/ done.redis.ttl < redis.ttl
                      THEN excused \cup Trusting(c.owner) ELSE excused
        /\ ghost' = IF done.redis.owner = redis.owner /\ c.kind # "acquire" THEN ghost ELSE 0
  /\ late' = late \ {c}
  /\ UNCHANGED <<replica, thread, link, undo, ticket, left, highest>>

\* What a broken connection may still deliver, for so long.
Stray(c) == [c EXCEPT !.by = "dropped", !.good = 0, !.age = Late, !.repeat = FALSE]

\* It says that it was sent before, unless the client may have left a hold there.
Again(c) == [c EXCEPT !.age = 0, !.repeat = undo[c.thread].for = 0]

\* A connection breaks. What the server had not read is lost, or comes late. Answers are lost. The client sends again
\* what may run twice; a renewal and what nobody waits for it does not.
Breaks(l) ==
  /\ link[l].up
  /\ left.breaks > 0
  /\ left' = [left EXCEPT !.breaks = @ - 1]
  /\ LET unanswered == [i \in 1..Len(link[l].out) |-> link[l].out[i].cmd] \o link[l].pipe
         resent(c) == c.by # "dropped" /\ c.kind # "renew"
         again == SelectSeq(unanswered, resent)
     IN /\ link' = [link EXCEPT ![l] = [up |-> FALSE, pipe |-> <<>>, out |-> <<>>,
                                        again |-> [i \in 1..Len(again) |-> Again(again[i])]]]
        /\ undo' = [o \in Owners |->
                      IF \E c \in Range(unanswered) : c.kind # "renew" /\ o \in {c.thread, c.owner, c.heir}
                      THEN [undo[o] EXCEPT !.many = Broken # "an undo on another connection counts as done"]
                      ELSE undo[o]]
        /\ \/ late' = late
           \/ /\ Late > 0 /\ link[l].pipe # <<>>
              /\ late' = late \cup {Stray(c) : c \in Range(link[l].pipe)}
  /\ UNCHANGED <<redis, replica, thread, ears, ticket, excused, ghost, highest>>

Alive(p) == \A t \in In(p) : thread[t].call # "dead"

Reconnects(l) ==
  /\ ~link[l].up
  /\ Alive(l[1])
  /\ link' = [link EXCEPT ![l].up = TRUE]
  /\ UNCHANGED <<redis, replica, thread, late, undo, ears, ticket, left, excused, ghost, highest>>

\* An extension leaves what there is when it is written: so many holds, for the rest of their lease.
Fresh(c) == IF c.by # "extend" THEN c
            ELSE [c EXCEPT !.count = thread[c.thread].holds, !.lease = Max(c.good + Margin, 1)]

SendsAgain(l) ==
  /\ link[l].up
  /\ link[l].again # <<>>
  /\ link' = [link EXCEPT ![l].again = Tail(@), ![l].pipe = Append(@, Fresh(Head(link[l].again)))]
  /\ UNCHANGED <<redis, replica, thread, late, undo, ears, ticket, left, excused, ghost, highest>>

(***************************************************************************)
(* Acquiring. The waiting loop: attempt, subscribe, attempt, sleep until   *)
(* woken or until the ttl has passed, attempt ... Of the waiters of a      *)
(* process only one, the head, does so; the others are queued behind it.   *)
(***************************************************************************)
AtHead == {"attempt", "asked", "subscribe", "asleep", "heir"}
Heads(p) == {t \in In(p) : thread[t].call \in AtHead /\ thread[t].holds = 0}

\* The thread leaves the queue of its process: the next one becomes its head. It attempts if the one before was awake,
\* and has not acquired: that one may have used up a wake-up.
Leaves(threads, t, awake) ==
  LET p == ProcessOf(t)
      others == {u \in In(p) \ {t} : threads[u].call \in AtHead /\ threads[u].holds = 0}
      next == CHOOSE u \in In(p) : threads[u].call = "queued"
      call == IF (awake /\ Broken # "a head that leaves hands no wake-up on") \/ ears[p].state = "off"
              THEN "attempt" ELSE "asleep"
  IN IF others # {} \/ (\A u \in In(p) : threads[u].call # "queued") THEN threads
     ELSE [threads EXCEPT ![next].call = call, ![next].sleep = threads[t].lease]

\* Nobody of the process listens any more when nobody waits.
Unsubscribes(threads, p, e) ==
  IF \E u \in In(p) : threads[u].call \in AtHead \cup {"queued"} THEN e
  ELSE [e EXCEPT ![p] = [state |-> "off", mail |-> FALSE]]

\* The head looks again, now or when the attempt under way is refused.
Wake(threads, p) ==
  [t \in Threads |-> IF ProcessOf(t) # p THEN threads[t]
                     ELSE IF threads[t].call = "asleep" THEN [threads[t] EXCEPT !.call = "attempt"]
                     ELSE IF threads[t].call \in {"asked", "subscribe", "heir"} THEN [threads[t] EXCEPT !.woken = TRUE]
                     ELSE threads[t]]

Acquire(t, lease) == Command("acquire", t, t, Nobody, thread[t].holds + 1, lease, "call")

\* lock(): of a thread that has it already, once more.
Calls(t, lease) ==
  /\ thread[t].call = "idle"
  /\ thread[t].holds < MaxHolds
  /\ thread[t].as = t
  /\ Settled(t)
  /\ left.calls > 0
  /\ left' = [left EXCEPT !.calls = @ - 1]
  /\ IF thread[t].holds = 0 /\ Heads(ProcessOf(t)) # {}
     THEN /\ thread' = [thread EXCEPT ![t].call = "queued", ![t].lease = lease]
          /\ UNCHANGED link
     ELSE /\ thread' = [thread EXCEPT ![t].call = "asked", ![t].lease = lease]
          /\ link' = Send(Main(t), Acquire(t, lease))
  /\ undo' = IF undo[t].for = 0 THEN [undo EXCEPT ![t].many = FALSE] ELSE undo
  /\ UNCHANGED <<redis, replica, late, ears, ticket, excused, ghost, highest>>

\* A waiter attempts again.
Attempts(t) ==
  /\ thread[t].call = "attempt"
  /\ Settled(t)
  /\ link' = Send(Main(t), Acquire(t, thread[t].lease))
  /\ thread' = [thread EXCEPT ![t].call = "asked", ![t].woken = FALSE]
  /\ UNCHANGED <<redis, replica, late, undo, ears, ticket, left, excused, ghost, highest>>

\* It subscribes, and attempts once more: the message may have come between its attempt and the subscription.
Subscribes(t) ==
  /\ thread[t].call = "subscribe"
  /\ ears' = [ears EXCEPT ![ProcessOf(t)].state = "on"]
  /\ thread' = [thread EXCEPT ![t].call = IF Broken = "no second attempt after subscribing" THEN "asleep"
                                          ELSE "attempt"]
  /\ UNCHANGED <<redis, replica, link, late, undo, ticket, left, excused, ghost, highest>>

\* A message arrives.
Hears(p) ==
  /\ ears[p].mail
  /\ ears' = [ears EXCEPT ![p].mail = FALSE]
  /\ thread' = IF Broken = "messages wake nobody" THEN thread ELSE Wake(thread, p)
  /\ UNCHANGED <<redis, replica, link, late, undo, ticket, left, excused, ghost, highest>>

\* The connection that listens breaks; a message on its way is lost.
Deafens(p) ==
  /\ ears[p].state = "on"
  /\ left.cuts > 0
  /\ left' = [left EXCEPT !.cuts = @ - 1]
  /\ ears' = [ears EXCEPT ![p] = [state |-> "cut", mail |-> FALSE]]
  /\ UNCHANGED <<redis, replica, thread, link, late, undo, ticket, excused, ghost, highest>>

\* It is subscribed again. Messages may have been lost, so the head looks.
HearsAgain(p) ==
  /\ ears[p].state = "cut"
  /\ ears' = [ears EXCEPT ![p].state = "on"]
  /\ thread' = IF Broken = "nobody is woken when the connection is back" THEN thread ELSE Wake(thread, p)
  /\ UNCHANGED <<redis, replica, link, late, undo, ticket, left, excused, ghost, highest>>

\* The ttl that the head saw has passed.
WakesUp(t) ==
  /\ SleepsForTtl
  /\ thread[t].call = "asleep"
  /\ thread[t].sleep = 0
  /\ thread' = [thread EXCEPT ![t].call = "attempt"]
  /\ UNCHANGED <<redis, replica, link, late, undo, ears, ticket, left, excused, ghost, highest>>

(***************************************************************************)
(* The undo: what a command may have left, or may still leave, in Redis    *)
(* although no call owns it.                                               *)
(*                                                                         *)
(* `for`: the client looks for it for so long. `due`: an undo is to be     *)
(* sent now. `many`: a command was on more than one connection, so an      *)
(* answered undo is not the last one. `to`: who gets the hold back.        *)
(***************************************************************************)
NoUndo == [for |-> 0, due |-> FALSE, many |-> FALSE, to |-> Nobody]

StartUndo(u, o, lease, to) ==
  IF Broken = "no undo" THEN u  \* the entry is never made
  ELSE [u EXCEPT ![o] = [for |-> lease + Late, due |-> TRUE, many |-> @.many, to |-> to]]

\* Sent behind the command that left it. It leaves the holds that the thread has: the thread may have acquired again.
MayUndo(t) == TRUE =
  /\ undo[t].due
  /\ thread[t].call \in {"idle", "closed"}
  /\ thread[t].as = t
  /\ thread[t].holds = 0 \/ ~undo[t].many   \* what may come late is looked for when the thread has nothing
  /\ Settled(t)
  /\ link[Main(t)].up

Undoes(t, rest) ==
  /\ MayUndo(t)
  /\ link' = Send(Main(t), IF undo[t].to = Ticket /\ thread[t].holds = 0
                           THEN Command("move", t, t, Ticket, 0, thread[t].lease, "undo")
                           ELSE Command("release", t, t, Nobody,
                                        IF thread[t].call = "closed" /\ Broken = "a shutdown forgets the holds that stay"
                                        THEN 0 ELSE thread[t].holds, rest, "undo"))
  /\ undo' = [undo EXCEPT ![t].due = FALSE]
  /\ UNCHANGED <<redis, replica, thread, late, ears, ticket, left, excused, ghost, highest>>

\* What the calls of a thread have sent, and what waits to be sent, has no caller any more.
WithoutCalls(lk, t) ==
  LET own(c) == c.by \in {"call", "extend"} /\ c.kind # "renew" /\ c.thread = t
      quit(c) == IF own(c) THEN [c EXCEPT !.by = "dropped", !.good = 0] ELSE c
      kept(c) == ~own(c)
  IN [lk EXCEPT !.pipe = [i \in 1..Len(@) |-> quit(@[i])],
                !.out = [i \in 1..Len(@) |-> [@[i] EXCEPT !.cmd = quit(@)]],
                !.again = SelectSeq(@, kept)]

\* A call ends without the lock: its time is up, or it is aborted. What it has sent may still run.
GivesUp(t) ==
  /\ thread[t].call \in AtHead \cup {"queued", "attaching"}
  /\ left.quits > 0
  /\ left' = [left EXCEPT !.quits = @ - 1]
  /\ LET asked == thread[t].call \in {"asked", "attaching", "heir"}
         awake == thread[t].call \in {"attempt", "asked", "subscribe", "heir"}
         gone == [thread EXCEPT ![t].call = "idle", ![t].woken = FALSE, ![t].sleep = 0]
         after == IF thread[t].call \in AtHead THEN Leaves(gone, t, awake) ELSE gone
     IN /\ link' = [link EXCEPT ![Main(t)] = WithoutCalls(@, t)]
        /\ thread' = after
        /\ ears' = Unsubscribes(after, ProcessOf(t), ears)
        /\ undo' = IF (asked \/ undo[t].many) /\ Broken # "a wait that ends forgets the attempt under way"
                   THEN StartUndo(undo, t, thread[t].lease, IF thread[t].call = "attaching" THEN Ticket ELSE Nobody)
                   ELSE undo
  /\ UNCHANGED <<redis, replica, late, ticket, excused, ghost, highest>>

(***************************************************************************)
(* Releasing                                                               *)
(***************************************************************************)
Relays(p) == {c \in UnderWay(<<p, "main">>) : c.by = "relay"}
Leaver(threads, t) == [threads EXCEPT ![t].call = "unlocking", ![t].holds = 0, ![t].until = 0, ![t].since = 0]

\* Of a relay: has given the lock back, by a command that is to be sent; or by the one that is under way.
Passer(threads, t) == [threads EXCEPT ![t].call = "passed", ![t].holds = 0, ![t].since = 0]
Covered(threads, p) ==
  [t \in Threads |-> IF ProcessOf(t) = p /\ threads[t].call = "passed"
                     THEN [threads[t] EXCEPT !.call = "covered", !.until = 0] ELSE threads[t]]
Settles(threads, p) ==
  [t \in Threads |-> IF ProcessOf(t) = p /\ threads[t].call = "covered"
                     THEN [threads[t] EXCEPT !.call = "idle", !.as = t] ELSE threads[t]]

\* The holds that are left have a lease of their own.
Shorter(until, rest) == IF rest = 0 THEN until ELSE Min(until, Max(Trust(rest), 0))

\* unlock(): from now on the thread does not believe in the hold, whatever becomes of the command.
Unlocks(t, rest) ==
  /\ thread[t].call = "idle"
  /\ thread[t].holds > 0
  /\ IF thread[t].as # t
     \* Redis does not know yet that this thread has it: a command follows when it does (see GivesBack)
     THEN /\ thread' = Passer(thread, t)
          /\ UNCHANGED link
     ELSE /\ Settled(t)
          /\ link' = Send(Main(t), Command("release", t, t, Nobody, thread[t].holds - 1, rest, "call"))
          /\ thread' = IF thread[t].holds = 1 THEN Leaver(thread, t)
                       ELSE [thread EXCEPT ![t].call = "unlocking", ![t].holds = @ - 1, ![t].until = Shorter(@, rest)]
  /\ UNCHANGED <<redis, replica, late, undo, ears, ticket, left, excused, ghost, highest>>

\* unlock() with a waiter in the same process, the heir: one command gives the lock to it, without a message.
HandsOver(t, heir) ==
  /\ thread[t].call = "idle"
  /\ thread[t].holds = 1
  /\ thread[t].as = t
  /\ heir # t /\ ProcessOf(heir) = ProcessOf(t)
  /\ thread[heir].call = "asleep" /\ thread[heir].holds = 0
  /\ MayFollow(t) /\ Settled(heir) /\ Relays(ProcessOf(t)) = {}
  /\ link' = Send(Main(t), Command("move", t, t, heir, 0, thread[heir].lease, "call"))
  /\ thread' = [Leaver(thread, t) EXCEPT ![heir].call = "heir"]
  /\ UNCHANGED <<redis, replica, late, undo, ears, ticket, left, excused, ghost, highest>>

(***************************************************************************)
(* localHandOver: the heir starts at once, on the strength of the lease    *)
(* that the process has confirmed. `as` is the name by which Redis knows   *)
(* the hold, until a command of the process (a relay) says otherwise. One  *)
(* command is under way at a time. It covers all that have had the lock    *)
(* since the one before; their unlock() ends with its answer.              *)
(***************************************************************************)

\* Who has given the lock back as the last one, when no command is under way: it is neither passed on nor released yet.
HasChoice(t) ==
  /\ thread[t].call = "passed"
  /\ Relays(ProcessOf(t)) = {}
  /\ \A u \in In(ProcessOf(t)) : ~(Believes(u) /\ thread[u].as = thread[t].as)

\* How long an heir may believe, whose command is sent with that: the shorter lease may count already.
HeirUntil(until, lease) ==
  IF Broken = "a shorter lease that is on its way does not count" THEN until
  ELSE Min(until, Max(Trust(lease), 0))

HandsOverLocally(t, heir) ==
  /\ RelayLeft > 0
  /\ (thread[t].call = "idle" /\ thread[t].holds = 1) \/ HasChoice(t)
  /\ thread[t].until >= RelayLeft /\ thread[heir].lease >= RelayLeft
  /\ thread[t].sure > 0
  /\ heir # t /\ ProcessOf(heir) = ProcessOf(t)
  /\ thread[heir].call = "asleep" /\ thread[heir].holds = 0 /\ thread[heir].as = heir
  /\ Relays(ProcessOf(t)) # {} \/ (Settled(t) /\ Settled(heir))
  /\ LET p == ProcessOf(t)
         sends == Relays(p) = {}
         until == IF sends THEN HeirUntil(thread[t].until, thread[heir].lease) ELSE thread[t].until
         gets == [thread[heir] EXCEPT !.call = "idle", !.holds = 1, !.until = until, !.woken = FALSE,
                                      !.sure = thread[t].sure, !.since = thread[t].since, !.as = thread[t].as]
         moved == [Passer(thread, t) EXCEPT ![heir] = gets]
         after == Leaves(IF sends THEN Covered(moved, p) ELSE moved, heir, FALSE)
     IN /\ thread' = after
        /\ ears' = Unsubscribes(after, p, ears)
        /\ link' = IF sends THEN Send(Main(t), Command("move", heir, thread[t].as, heir, 0, thread[heir].lease, "relay"))
                   ELSE link
  /\ excused' = IF t \in excused THEN excused \cup {heir} ELSE excused \ {heir}
  /\ UNCHANGED <<redis, replica, late, undo, ticket, left, ghost, highest>>

\* With nobody of the process left who has the lock, or is to have it, it is released: by the name that Redis knows.
GivesBack(t) ==
  /\ HasChoice(t)
  /\ thread' = [Covered(thread, ProcessOf(t)) EXCEPT ![t].call = "unlocking"]
  /\ link' = Send(Main(t), Command("release", t,
                                   IF Broken = "a relay is released by the wrong name"
                                   THEN CHOOSE u \in In(ProcessOf(t)) : u # thread[t].as ELSE thread[t].as,
                                   Nobody, 0, 0, "call"))
  /\ UNCHANGED <<redis, replica, late, undo, ears, ticket, left, excused, ghost, highest>>

\* extend(): another lease, shorter or longer. Until it is confirmed the shorter one counts; of several at a time the
\* last one confirms.
Extends(t, lease) ==
  /\ left.extends > 0
  /\ thread[t].call = "idle"
  /\ Believes(t)
  /\ thread[t].as = t
  /\ MayFollow(t)
  /\ left' = [left EXCEPT !.extends = @ - 1]
  /\ link' = Send(Main(t), [Command("release", t, t, Nobody, thread[t].holds, lease, "extend")
                            EXCEPT !.good = Less(Trust(lease), 0)])
  /\ thread' = [thread EXCEPT ![t].lease = Max(@, lease),
                              ![t].until = IF Broken = "a shorter lease counts when it is confirmed" THEN @
                                           ELSE Shorter(@, lease)]
  /\ UNCHANGED <<redis, replica, late, undo, ears, ticket, excused, ghost, highest>>

\* The client of a thread shuts down, and does not wait for its sections, or no longer. What they have stays until its
\* lease ends, and is not renewed. A call under way ends, and what it has sent is undone.
ShutsDown(t) ==
  /\ left.shutdowns > 0
  /\ thread[t].call \in {"idle", "asked"} /\ In(ProcessOf(t)) = {t}
  /\ left' = [left EXCEPT !.shutdowns = @ - 1]
  /\ link' = [link EXCEPT ![Main(t)] = WithoutCalls(@, t)]
  /\ thread' = [thread EXCEPT ![t].call = "closed", ![t].sleep = 0]
  /\ undo' = IF thread[t].call = "asked" THEN StartUndo(undo, t, thread[t].lease, Nobody) ELSE undo
  /\ UNCHANGED <<redis, replica, late, ears, ticket, excused, ghost, highest>>

(***************************************************************************)
(* Tickets: a hold leaves its process, and another one takes it up.        *)
(***************************************************************************)
Detaches(t, lease) ==
  /\ left.detaches > 0
  /\ thread[t].call = "idle"
  /\ thread[t].holds = 1
  /\ thread[t].as = t
  /\ Settled(t) /\ Relays(ProcessOf(t)) = {}
  /\ left' = [left EXCEPT !.detaches = @ - 1]
  /\ link' = Send(Main(t), Command("move", t, t, Ticket, 0, lease, "call"))
  /\ thread' = Leaver(thread, t)
  /\ UNCHANGED <<redis, replica, late, undo, ears, ticket, excused, ghost, highest>>

\* It is always a new thread: one that may have left a hold of its own could not tell that from the one of the ticket.
Attaches(t, lease) ==
  /\ ticket = "valid"
  /\ thread[t].call = "idle"
  /\ thread[t].holds = 0
  /\ thread[t].lease = 0 \/ Broken = "a thread that was here before takes up a ticket"
  /\ Settled(t)
  /\ link' = Send(Main(t), Command("move", t, Ticket, t, 0, lease, "call"))
  /\ thread' = [thread EXCEPT ![t].call = "attaching", ![t].lease = lease]
  /\ UNCHANGED <<redis, replica, late, undo, ears, ticket, left, excused, ghost, highest>>

(***************************************************************************)
(* The watchdog, and the deadline                                          *)
(***************************************************************************)
Renews(t, lease) ==
  /\ Believes(t)
  /\ thread[t].as = t
  /\ thread[t].call # "closed"
  /\ left.renewals > 0
  /\ link[Dog(t)].up
  /\ left' = [left EXCEPT !.renewals = @ - 1]
  /\ link' = Send(Dog(t), Command("renew", t, t, Nobody, thread[t].since, lease, "call"))
  /\ UNCHANGED <<redis, replica, thread, late, undo, ears, ticket, excused, ghost, highest>>

\* The lease that Redis has confirmed last is over by the clock of the client: the hold is lost, before anybody else can
\* have the lock. Redis may still have it (a renewal without an answer), so it is undone.
Expires(t) ==
  /\ Believes(t)
  /\ thread[t].until <= Slack
  /\ thread' = Wake([thread EXCEPT ![t].holds = 0, ![t].until = 0, ![t].since = 0, ![t].as = t], ProcessOf(t))
  /\ undo' = LET own == StartUndo(undo, t, thread[t].lease, Nobody)
             IN IF thread[t].call = "closed" THEN undo
                ELSE IF thread[t].as = t THEN own ELSE StartUndo(own, thread[t].as, thread[t].lease, Nobody)
  /\ UNCHANGED <<redis, replica, link, late, ears, ticket, left, excused, ghost, highest>>

(***************************************************************************)
(* The client reads the next answer of a connection.                       *)
(***************************************************************************)

\* How long the thread may believe in what this answer confirms.
Confirmed(c) == IF Broken = "the deadline counts from the reply" THEN Trust(c.lease) ELSE c.good

\* The token that the caller gets, if it gets the lock.
Token(t, a, until) == IF until > 0 /\ t \notin excused THEN a.token ELSE highest

\* The thread has the lock: this many holds, unless the answer came too late.
Holds(t, a) ==
  LET c == a.cmd
      \* not more than it knows of: it may have reported the others lost while this was under way
      n == IF c.kind = "acquire" THEN Min(a.n, thread[t].holds + 1) ELSE 1
      until == Max(Confirmed(c), IF Believes(t) THEN thread[t].until ELSE 0)
      inside == [thread EXCEPT ![t] = [@ EXCEPT !.call = "idle", !.holds = n, !.until = until, !.sure = RelayAge,
                                               !.since = IF Believes(t) THEN @ ELSE a.token,
                                               !.woken = FALSE, !.sleep = 0]]
      outside == [thread EXCEPT ![t].call = "idle", ![t].woken = FALSE, ![t].sleep = 0]
      after == Leaves(IF until > 0 THEN inside ELSE outside, t, until = 0)
  IN /\ thread' = after
     /\ ears' = Unsubscribes(after, ProcessOf(t), ears)
     /\ highest' = Token(t, a, until)
     /\ undo' = IF until = 0 \/ undo[t].many \/ n < a.n
                THEN StartUndo(undo, t, c.lease, IF c.owner = Ticket /\ until = 0 THEN Ticket ELSE Nobody) ELSE undo

\* Somebody else has it.
Refused(t, a) ==
  LET p == ProcessOf(t)
      lost == Believes(t)
      call == IF ~Waits THEN "idle"
              ELSE IF Heads(p) \ {t} # {} THEN "queued"
              ELSE IF thread[t].woken \/ lost THEN "attempt"
              ELSE IF ears[p].state = "off" THEN "subscribe" ELSE "asleep"
      waiting == [thread EXCEPT ![t] = [@ EXCEPT !.call = call, !.sleep = IF SleepsForTtl THEN a.n ELSE 0,
                                                !.woken = FALSE, !.holds = 0, !.until = 0]]
  IN /\ thread' = waiting
     \* the call ends, and an earlier attempt of it may come late
     /\ undo' = IF call = "idle" /\ undo[t].many THEN StartUndo(undo, t, a.cmd.lease, Nobody) ELSE undo
     /\ UNCHANGED <<ears, highest>>

\* The holds of a thread are gone from Redis.
Lost(threads, t) == Wake([threads EXCEPT ![t].holds = 0, ![t].until = 0], ProcessOf(t))

\* The answer to a relay from x to y. Redis knows the hold by the name y now. If another one of the process has it by
\* then, the next command follows.
Relayed(l, a) ==
  LET p == l[1]
      x == a.cmd.owner
      y == a.cmd.heir
      yes == a.result = "yes"
      in == {t \in In(p) : thread[t].as = x /\ (Believes(t) \/ thread[t].call = "passed")}
      named(t) == IF yes THEN [thread[t] EXCEPT !.as = y, !.until = Max(@, a.cmd.good), !.sure = RelayAge]
                  ELSE [thread[t] EXCEPT !.holds = 0, !.until = 0, !.as = t,
                                         !.call = IF @ = "passed" THEN "idle" ELSE @]
      told == Settles([t \in Threads |-> IF t \in in THEN named(t) ELSE thread[t]], p)
      holders == {t \in in : Believes(t) /\ t # y}
      one == CHOOSE t \in holders : TRUE
      lease == thread[one].lease
      rest == [link EXCEPT ![l].out = Tail(@)]
  IN /\ IF yes /\ holders # {}
        THEN /\ thread' = Covered([told EXCEPT ![one].until = HeirUntil(@, lease)], p)
             /\ link' = SendOn(rest, l, Command("move", one, y, one, 0, lease, "relay"))
        ELSE /\ thread' = IF yes THEN told ELSE Wake(told, p)
             /\ link' = rest
     \* a copy of the command may still run
     /\ undo' = IF undo[y].many THEN StartUndo(undo, y, a.cmd.lease, Nobody) ELSE undo
     /\ UNCHANGED <<highest, ears>>

Answered(l) ==
  /\ link[l].up
  /\ link[l].out # <<>>
  /\ LET a == Head(link[l].out)
         c == a.cmd
         t == c.thread
         rest == [link EXCEPT ![l].out = Tail(@)]
         same == UNCHANGED <<ears, undo, highest>>
     IN CASE c.by = "dropped" ->
               link' = rest /\ same /\ UNCHANGED <<thread, ticket>>
          [] c.by = "undo" ->
               \* the last one, if it ran behind what it undoes
               /\ link' = rest
               /\ undo' = IF undo[t].many \/ undo[t].due THEN undo ELSE [undo EXCEPT ![t] = NoUndo]
               /\ UNCHANGED <<thread, ticket, ears, highest>>
          [] c.by = "relay" ->
               Relayed(l, a) /\ UNCHANGED ticket
          [] c.by = "call" /\ c.kind = "acquire" ->
               link' = rest /\ UNCHANGED ticket /\ IF a.result = "yes" THEN Holds(t, a) ELSE Refused(t, a)
          [] c.by = "call" /\ c.kind = "renew" ->
               /\ link' = rest /\ same /\ UNCHANGED ticket
               \* released meanwhile, and perhaps acquired again: the answer is about a hold that is no more
               /\ thread' = IF \/ ~Believes(t) \/ thread[t].as # t
                               \/ thread[t].since # c.count /\ Broken # "a renewal counts for the next hold"
                            THEN thread
                            ELSE IF a.result = "yes"
                                 THEN [thread EXCEPT ![t].until = Max(@, Confirmed(c)), ![t].sure = RelayAge]
                            ELSE Lost(thread, t)
          [] c.by = "extend" ->
               /\ link' = rest /\ same /\ UNCHANGED ticket
               /\ thread' = IF ~Believes(t) \/ thread[t].as # t THEN thread
                            ELSE IF a.result = "kept" /\ Cardinality(Extensions(t)) > 1 THEN thread
                            ELSE IF a.result = "kept"
                                 THEN [thread EXCEPT ![t].until = Max(@, Confirmed(c)), ![t].sure = RelayAge]
                            ELSE Lost(thread, t)
          [] c.by = "call" /\ c.kind = "release" ->
               /\ link' = rest /\ same /\ UNCHANGED ticket
               /\ thread' = LET over == Settles([thread EXCEPT ![t].call = "idle", ![t].as = t], ProcessOf(t))
                            IN IF a.result = "gone" THEN Lost(over, t) ELSE over
          [] c.by = "call" /\ c.kind = "move" /\ c.owner = Ticket ->
               /\ link' = rest
               /\ IF a.result = "yes" THEN Holds(t, a)
                  ELSE thread' = [thread EXCEPT ![t].call = "idle"] /\ same
               /\ ticket' = IF a.result = "yes" /\ c.good > 0 THEN "used" ELSE ticket
          [] c.by = "call" /\ c.kind = "move" /\ c.heir = Ticket ->
               /\ link' = rest /\ same
               /\ thread' = [thread EXCEPT ![t].call = "idle"]
               /\ ticket' = IF a.result = "yes" THEN "valid" ELSE ticket
          [] c.by = "call" /\ c.kind = "move" /\ Ticket \notin {c.owner, c.heir} ->
               /\ link' = rest /\ UNCHANGED ticket
               /\ LET heir == c.heir
                      over == [thread EXCEPT ![t].call = "idle"]
                  IN IF thread[heir].call # "heir" THEN thread' = over /\ same
                     ELSE IF a.result # "yes"
                     THEN thread' = [over EXCEPT ![heir].call = "attempt"] /\ same
                     ELSE LET until == Confirmed(c)
                              in == [over EXCEPT ![heir] = [@ EXCEPT !.call = "idle", !.woken = FALSE,
                                       !.sure = RelayAge, !.since = a.token,
                                       !.holds = IF until > 0 THEN 1 ELSE 0, !.until = until]]
                              after == Leaves(in, heir, until = 0)
                          IN /\ thread' = after
                             /\ ears' = Unsubscribes(after, ProcessOf(heir), ears)
                             /\ highest' = Token(heir, a, until)
                             /\ undo' = IF until = 0 \/ undo[heir].many
                                        THEN StartUndo(undo, heir, c.lease, Nobody) ELSE undo
  /\ UNCHANGED <<redis, replica, late, left, excused, ghost>>

(***************************************************************************)
(* Deaths and failovers                                                    *)
(***************************************************************************)

\* A process dies: nobody of it believes in anything any more. What it has sent may still run.
Crashes(p) ==
  /\ left.crashes > 0
  /\ Alive(p)
  /\ left' = [left EXCEPT !.crashes = @ - 1]
  /\ thread' = [t \in Threads |-> IF ProcessOf(t) # p THEN thread[t]
                                  ELSE [thread[t] EXCEPT !.call = "dead", !.holds = 0, !.until = 0, !.as = t,
                                                         !.sleep = 0]]
  /\ undo' = [o \in Owners |-> IF o \in In(p) THEN NoUndo ELSE undo[o]]
  /\ link' = [l \in Links |-> IF l[1] # p THEN link[l]
                              ELSE [up |-> FALSE, pipe |-> <<>>, out |-> <<>>, again |-> <<>>]]
  /\ late' = IF Late = 0 THEN late
             ELSE late \cup {Stray(c) : c \in UNION {Range(link[l].pipe) : l \in {k \in Links : k[1] = p}}}
  /\ ears' = [ears EXCEPT ![p] = [state |-> "off", mail |-> FALSE]]
  /\ UNCHANGED <<redis, replica, ticket, excused, ghost, highest>>

\* The replica gets what the master has.
Replicates ==
  /\ left.failovers > 0
  /\ replica # redis
  /\ replica' = redis
  /\ UNCHANGED <<redis, thread, link, late, undo, ears, ticket, left, excused, ghost, highest>>

\* The master dies, and the replica takes its place: what it has not got is lost, be it a hold or only its renewal. Who
\* believes in that is excused until the hold is confirmed again. The tokens go back, too.
FailsOver ==
  /\ left.failovers > 0
  /\ left' = [left EXCEPT !.failovers = @ - 1]
  \* a hold that has been given back, and is there again, ends with its lease
  /\ redis' = [replica EXCEPT !.back = @ \/ (replica.owner = redis.owner /\ redis.back)
                                           \/ replica.owner \notin {Nobody, redis.owner}]
  /\ LET same == replica.owner = redis.owner /\ replica.ttl >= redis.ttl
         hit == {o \in Threads : o # replica.owner \/ ~same}
     IN excused' = excused \cup UNION {Trusting(o) : o \in hit}
  /\ highest' = 0
  /\ UNCHANGED <<replica, thread, link, late, undo, ears, ticket, ghost>>

(***************************************************************************)
(* Time                                                                    *)
(***************************************************************************)
Owned(o) ==
  \/ o = Ticket  \* whoever has the text of the ticket owns it
  \/ o # Ticket /\
       \/ thread[o].call # "idle"
       \/ thread[o].holds > 0
       \/ ~link[Main(o)].up
       \/ \E t \in In(ProcessOf(o)) :
            thread[t].as = o /\ (thread[t].holds > 0 \/ thread[t].call \in {"unlocking", "passed"})

Aged(seq, by) == [i \in 1..Len(seq) |-> [seq[i] EXCEPT !.age = Min(@ + by, MaxDelay), !.good = Less(@, by)]]

Ages(r, by) == IF r.ttl <= by THEN FreeWith(r.token) ELSE [r EXCEPT !.ttl = @ - by]

\* What has to happen before time goes on: a believer notices its deadline, messages arrive, undos are sent.
InTime(by) == TRUE =
  /\ \A t \in Threads : Believes(t) => thread[t].until >= by \/ Broken = "deadlines pass unnoticed for a while"
  /\ Urgent =>
       /\ \A l \in Links : link[l].up =>
            /\ link[l].again = <<>>
            /\ \A i \in 1..Len(link[l].pipe) : link[l].pipe[i].age < MaxDelay
            /\ \A i \in 1..Len(link[l].out) : link[l].out[i].cmd.age < MaxDelay
       /\ \A t \in Threads : ~MayUndo(t) /\ ~HasChoice(t)

Passes(by) ==
  /\ InTime(by)
  /\ redis' = Ages(redis, by)
  /\ replica' = Ages(replica, by)
  /\ thread' = [t \in Threads |-> [thread[t] EXCEPT !.until = Less(@, by), !.sleep = Less(@, by), !.sure = Less(@, by)]]
  /\ link' = [l \in Links |->
                [link[l] EXCEPT !.pipe = Aged(@, by),
                                !.again = [i \in 1..Len(@) |-> [@[i] EXCEPT !.good = Less(@, by)]],
                                !.out = [i \in 1..Len(@) |-> [@[i] EXCEPT !.cmd = Aged(<<@>>, by)[1]]]]]
  /\ late' = {[c EXCEPT !.age = @ - by] : c \in {d \in late : d.age > by}}
  /\ undo' = [o \in Owners |->
                IF undo[o].for <= by THEN [NoUndo EXCEPT !.many = undo[o].for = 0 /\ undo[o].many]
                ELSE [undo[o] EXCEPT !.for = @ - by, !.due = @ \/ undo[o].many]]
  /\ ghost' = IF redis'.owner # Nobody /\ ~Owned(redis.owner) /\ ~redis.back THEN Min(ghost + by, GhostBound + 1) ELSE 0
  /\ UNCHANGED <<ears, ticket, left, excused, highest>>

Ticks == SleepsForTtl /\ Passes(1)

(***************************************************************************)
(* The whole                                                               *)
(***************************************************************************)
Init ==
  /\ redis = FreeWith(0)
  /\ replica = FreeWith(0)
  /\ thread = [t \in Threads |-> [call |-> "idle", holds |-> 0, until |-> 0, sleep |-> 0, lease |-> 0, as |-> t,
                                  sure |-> 0, woken |-> FALSE, since |-> 0]]
  /\ link = [l \in Links |-> [up |-> TRUE, pipe |-> <<>>, out |-> <<>>, again |-> <<>>]]
  /\ late = {}
  /\ undo = [o \in Owners |-> NoUndo]
  /\ ears = [p \in Processes |-> [state |-> "off", mail |-> FALSE]]
  /\ ticket = "none"
  /\ left = Budget
  /\ excused = {}
  /\ ghost = 0
  /\ highest = 0

Steps(t) ==
  \/ \E lease \in Leases :
       Calls(t, lease) \/ Renews(t, lease) \/ Extends(t, lease) \/ Detaches(t, lease) \/ Attaches(t, lease)
  \/ ShutsDown(t)
  \/ Attempts(t) \/ Subscribes(t) \/ WakesUp(t) \/ GivesUp(t) \/ Expires(t) \/ GivesBack(t)
  \/ \E rest \in Remainders : Undoes(t, rest) \/ Unlocks(t, rest)
  \/ \E heir \in Threads : HandsOver(t, heir) \/ HandsOverLocally(t, heir)

Next ==
  \/ \E t \in Threads : Steps(t)
  \/ \E l \in Links : ServerRuns(l) \/ Answered(l) \/ Breaks(l) \/ Reconnects(l) \/ SendsAgain(l)
  \/ \E c \in late : RunsLate(c)
  \/ \E p \in Processes : Hears(p) \/ Deafens(p) \/ HearsAgain(p) \/ Crashes(p)
  \/ Replicates \/ FailsOver \/ Ticks

\* What goes on by itself: nothing that can always happen is put off for ever.
Fair ==
  /\ \A l \in Links : WF_vars(ServerRuns(l)) /\ WF_vars(Answered(l)) /\ WF_vars(Reconnects(l)) /\ WF_vars(SendsAgain(l))
  /\ \A p \in Processes : WF_vars(Hears(p)) /\ WF_vars(HearsAgain(p))
  /\ \A t \in Threads : /\ WF_vars(Attempts(t)) /\ WF_vars(Subscribes(t)) /\ WF_vars(WakesUp(t))
                        /\ WF_vars(Undoes(t, 0)) /\ WF_vars(Unlocks(t, 0)) /\ WF_vars(GivesBack(t)) /\ WF_vars(Expires(t))
  /\ WF_vars(Ticks)

Spec == Init /\ [][Next]_vars
FairSpec == Spec /\ Fair

(***************************************************************************)
(* What is promised                                                        *)
(***************************************************************************)

\* Of two threads that believe to have the lock at least one has lost it in a way that is documented: by a failover, or
\* by a release of its own that ran late.
NoTwoBelievers == \A t, u \in Threads : t # u /\ Believes(t) /\ Believes(u) => t \in excused \/ u \in excused

\* Redis has the hold that the thread believes in. (It may count fewer of them, after a late release. That does no harm,
\* since a release says how many it leaves.)
HoldsAreThere ==
  \A t \in Threads : Believes(t) /\ t \notin excused /\ thread[t].as = t /\ Settled(t) /\ RelayLeft = 0 =>
    redis.owner = t

\* A hold that no call owns ends soon, and not only with its lease.
NoGhosts == ghost <= GhostBound

\* A hold begins with a higher token than any hold before it.
TokensGrow ==
  [][\A t \in Threads : thread[t].holds = 0 /\ thread'[t].holds > 0 /\ t \notin excused => highest' > highest]_vars

\* A waiter sleeps no longer than the lock lasts, whatever becomes of its holder: it is told of a shorter lease.
SleepsNoLonger ==
  \A t \in Threads : thread[t].call = "asleep" /\ ~ears[ProcessOf(t)].mail /\ redis.owner # Nobody =>
    thread[t].sleep <= redis.ttl

\* A lock that is free while somebody waits for it is taken, or nobody waits any more.
Waiting(t) == thread[t].call \in AtHead \cup {"queued"}
SomebodyWaits == \E t \in Threads : Waiting(t)
FreeIsTaken == (redis.owner = Nobody /\ SomebodyWaits) ~> (redis.owner # Nobody \/ ~SomebodyWaits)
=============================================================================
