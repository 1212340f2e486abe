------------------------------- MODULE Models -------------------------------
(***************************************************************************)
(* How much may happen in each model: the numbers keep it small enough for *)
(* TLC to visit every state. The other constants are in the .cfg files.    *)
(***************************************************************************)
EXTENDS Lock

Nothing == [calls |-> 0, breaks |-> 0, quits |-> 0, cuts |-> 0, renewals |-> 0, detaches |-> 0, crashes |-> 0,
            failovers |-> 0, extends |-> 0, shutdowns |-> 0]

\* Slow answers.
DeadlineBudget == [Nothing EXCEPT !.calls = 3]
\* The undo of calls that end early, beside a connection that breaks.
UndoBudget == [Nothing EXCEPT !.calls = 2, !.breaks = 1, !.quits = 1]
\* Commands that run twice and late: three calls, so that a thread comes back.
RepeatBudget == [Nothing EXCEPT !.calls = 3, !.breaks = 1]
\* The same with holds in holds.
ReentryBudget == [Nothing EXCEPT !.calls = 3, !.breaks = 1]
\* The watchdog, with a connection of its own.
RenewalBudget == [Nothing EXCEPT !.calls = 2, !.renewals = 1, !.breaks = 1]
\* Leases that get longer and shorter, two changes at a time.
ExtendBudget == [Nothing EXCEPT !.calls = 2, !.extends = 2]
\* Holders that die after their lease has got shorter.
ShortenBudget == [Nothing EXCEPT !.calls = 2, !.extends = 1, !.crashes = 1]
\* A shutdown under a section, also while that re-enters its lock.
DrainBudget == [Nothing EXCEPT !.calls = 3, !.shutdowns = 1, !.renewals = 1]
\* Hand-overs inside of a process, and a waiter of another one.
HandOverBudget == [Nothing EXCEPT !.calls = 3]
\* localHandOver.
RelayBudget == [Nothing EXCEPT !.calls = 3]
\* The second thread asks for a shorter lease than the others.
OneIsShort == thread["a"].lease # 2 /\ thread["b"].lease # 3 /\ thread["c"].lease # 2
RelayFaultsBudget == [Nothing EXCEPT !.calls = 2, !.breaks = 1]
TicketBudget == [Nothing EXCEPT !.calls = 2, !.detaches = 1, !.quits = 1]
TicketFaultsBudget == [Nothing EXCEPT !.calls = 1, !.detaches = 1, !.breaks = 1]
FailoverBudget == [Nothing EXCEPT !.calls = 2, !.renewals = 1, !.failovers = 1]
\* Waiters that only messages can wake.
WakeUpBudget == [Nothing EXCEPT !.calls = 2, !.cuts = 1]
LeaveBudget == [Nothing EXCEPT !.calls = 3, !.quits = 1]
\* Holders that die: the timers of the waiters.
DeathBudget == [Nothing EXCEPT !.calls = 2, !.crashes = 1, !.cuts = 1]
=============================================================================
