----------------------------- MODULE FairQueue -----------------------------
(***************************************************************************)
(* The queue of the fair lock, with clients of ours and of Java.           *)
(*                                                                         *)
(* Each waiter has a score: when it counts as dead. A free lock is kept    *)
(* for the head of the queue. But the head may be dead, and its score far  *)
(* away, so a waiter of ours that finds the lock free gives the head a     *)
(* claim: a time within which it must come. Claims are in a key of their   *)
(* own, which Java does not know; it drops a head only by its score.       *)
(*                                                                         *)
(* Connections work here: what may go wrong with commands is in Lock. Each *)
(* script is one step. Numbers are ticks that are left.                    *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  Ours, Java,  \* the waiters
  Lease,
  Wait,        \* a score is so far away, for each waiter ahead and for itself
  Claim,       \* within so many ticks the head of a free lock must come
  Patience,    \* so long a lock may be free while a live waiter of ours waits
  Deaths,      \* how many may die
  Broken       \* "nothing", or the way in which the queue is broken on purpose

VARIABLES
  owner, ttl,
  queue,    \* the list of waiters
  score,    \* of each waiter
  claim,    \* of each waiter; None: it has none
  told,     \* who has a message that it has not read
  state,    \* "new", "awake" (about to attempt), "asleep", "inside", "gone", "dead"
  sleep,    \* when it looks again
  came,     \* in which order they came
  deaths, idle, jumped

vars == <<owner, ttl, queue, score, claim, told, state, sleep, came, deaths, idle, jumped>>

Waiters == Ours \cup Java
Nobody == "nobody"
None == 99
Less(n) == IF n = 0 \/ n = None THEN n ELSE n - 1
Min(a, b) == IF a < b THEN a ELSE b
Max(a, b) == IF a > b THEN a ELSE b
InQueue(q, w) == \E i \in 1..Len(q) : q[i] = w
Place(q, w) == CHOOSE i \in 1..Len(q) : q[i] = w
NoClaims == [w \in Waiters |-> None]
Live(w) == state[w] \in {"awake", "asleep"}

\* Every script first removes heads that count as dead: by their score, and those of ours by their claim, too.
RECURSIVE Purged(_, _)
Purged(q, ours) ==
  IF q # <<>> /\ (score[Head(q)] = 0 \/ (ours /\ owner = Nobody /\ claim[Head(q)] = 0 /\
                                         Broken # "the claim of a dead head never ends"))
  THEN Purged(Tail(q), ours) ELSE q

\* How far away the score of a waiter at this place is.
Score(place) == ttl + Wait * place

\* The script that acquires and queues. Whoever takes the lock ends all claims: ours deletes them, and Java changes all
\* scores, to which claims belong.
Attempts(w) ==
  /\ state[w] \in {"new", "awake"}
  /\ LET ours == w \in Ours
         pure == Purged(queue, ours)
         again == IF Broken = "a fair waiter that attempts again goes to the end of the queue" /\ InQueue(pure, w)
                  THEN Append(SelectSeq(pure, LAMBDA x : x # w), w) ELSE pure
         q == IF InQueue(again, w) THEN again ELSE Append(again, w)
         first == Head(q) = w \/ Broken = "a fair waiter takes a free lock although another one is the head"
     IN IF owner = Nobody /\ first
        THEN /\ owner' = w /\ ttl' = Lease
             /\ queue' = SelectSeq(q, LAMBDA x : x # w)
             /\ claim' = NoClaims
             /\ state' = [state EXCEPT ![w] = "inside"]
             /\ score' = [x \in Waiters |-> IF x # w /\ InQueue(q, x) THEN Lease + Wait * Place(queue', x) ELSE 0]
             /\ sleep' = [sleep EXCEPT ![w] = 0]
             /\ told' = told \ {w}
             \* it has passed a live waiter of ours that was ahead
             /\ LET ahead(x) == InQueue(came, x) /\ (InQueue(came, w) => Place(came, x) < Place(came, w))
                IN jumped' = (jumped \/ \E x \in Ours \ {w} : Live(x) /\ ahead(x))
        ELSE /\ queue' = q
             /\ UNCHANGED <<owner, ttl>>
             \* a waiter of ours that attempts is alive: its claim ends, and its score is what it would be now
             /\ score' = [score EXCEPT ![w] = IF ours \/ ~InQueue(again, w) THEN Max(@, Score(Place(q, w))) ELSE @]
             /\ LET head == Head(q)
                    asks == ours /\ owner = Nobody /\ claim[head] = None
                    free == IF ours THEN [claim EXCEPT ![w] = None] ELSE claim
                    given == IF asks THEN [free EXCEPT ![head] = Claim] ELSE free
                IN /\ claim' = given
                   /\ told' = (told \ {w}) \cup (IF asks THEN {head} ELSE {})
                   /\ sleep' = [sleep EXCEPT ![w] = IF owner # Nobody THEN ttl ELSE IF ours THEN Max(given[head], 1) ELSE 1]
             /\ state' = [state EXCEPT ![w] = "asleep"]
             /\ jumped' = jumped
  /\ came' = IF InQueue(came, w) THEN came ELSE Append(came, w)
  /\ UNCHANGED <<deaths, idle>>

\* unlock(): the head gets a message. Java tells nobody else. So waiters of ours behind it listen to the channels of those
\* ahead, and a client of ours that unlocks looks whether the head comes: in both cases ours notice soon.
Releases(w) ==
  /\ state[w] = "inside"
  /\ owner = w
  /\ LET pure == Purged(queue, w \in Ours)
         told1 == IF pure = <<>> THEN {} ELSE {Head(pure)}
         silent == Broken = "a fair lock is given back without a message, and nobody looks"
     IN /\ owner' = Nobody /\ ttl' = 0
        /\ queue' = pure
        /\ told' = IF silent THEN told
                   ELSE told \cup told1 \cup {x \in Ours : InQueue(pure, x)}
  /\ state' = [state EXCEPT ![w] = "gone"]
  /\ UNCHANGED <<score, claim, sleep, came, deaths, idle, jumped>>

Wakes(w) ==
  /\ state[w] = "asleep"
  /\ TRUE = (w \in told \/ sleep[w] = 0)
  /\ state' = [state EXCEPT ![w] = "awake"]
  /\ told' = told \ {w}
  /\ UNCHANGED <<owner, ttl, queue, score, claim, sleep, came, deaths, idle, jumped>>

\* A process dies: a waiter stays in the queue, a holder keeps the lock for its lease.
Dies(w) ==
  /\ deaths < Deaths
  /\ state[w] \in {"asleep", "inside"}
  /\ deaths' = deaths + 1
  /\ state' = [state EXCEPT ![w] = "dead"]
  /\ told' = told \ {w}
  /\ UNCHANGED <<owner, ttl, queue, score, claim, sleep, came, idle, jumped>>

\* A live waiter reacts within a tick, and a holder ends in time.
Ticks ==
  /\ TRUE = \A w \in Waiters : /\ state[w] # "awake"
                               /\ ~(state[w] = "asleep" /\ (w \in told \/ sleep[w] = 0))
                               /\ ~(state[w] = "inside" /\ ttl <= 1)
  /\ TRUE = (owner # Nobody \/ queue # <<>>)
  /\ ttl' = Less(ttl)
  /\ owner' = IF ttl <= 1 THEN Nobody ELSE owner
  /\ score' = [w \in Waiters |-> Less(score[w])]
  /\ claim' = [w \in Waiters |-> Less(claim[w])]
  /\ sleep' = [w \in Waiters |-> IF state[w] = "asleep" THEN Less(sleep[w]) ELSE 0]
  /\ idle' = IF owner = Nobody /\ \E w \in Ours : Live(w) /\ InQueue(queue, w) THEN Min(idle + 1, Patience + 1) ELSE 0
  /\ UNCHANGED <<queue, told, state, came, deaths, jumped>>

Init ==
  /\ owner = Nobody /\ ttl = 0 /\ queue = <<>>
  /\ score = [w \in Waiters |-> 0] /\ claim = NoClaims
  /\ told = {} /\ state = [w \in Waiters |-> "new"] /\ sleep = [w \in Waiters |-> 0]
  /\ came = <<>> /\ deaths = 0 /\ idle = 0 /\ jumped = FALSE

Next == Ticks \/ \E w \in Waiters : Attempts(w) \/ Releases(w) \/ Wakes(w) \/ Dies(w)

Spec == Init /\ [][Next]_vars
FairSpec ==
  /\ Spec /\ WF_vars(Ticks)
  /\ \A w \in Waiters : WF_vars(state[w] = "awake" /\ Attempts(w)) /\ WF_vars(Releases(w)) /\ WF_vars(Wakes(w))

(***************************************************************************)
(* What is promised                                                        *)
(***************************************************************************)

\* Only the owner is inside.
OneInside == \A w \in Waiters : state[w] = "inside" => owner = w

\* Nobody passes a live waiter of ours.
InOrder == ~jumped

\* A free lock is taken in time, whoever is dead.
GoesOnSoon == idle <= Patience

\* A free lock with a live waiter is taken, or the waiter dies.
Somebody == \E w \in Ours : Live(w)
QueueMoves == (owner = Nobody /\ Somebody) ~> (owner # Nobody \/ ~Somebody)
=============================================================================
