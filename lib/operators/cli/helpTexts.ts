/** What stands below the options, by command: what it promises; that of the program is ''. */
const NOTES: Readonly<Record<string, string>> = {
  '': `
Exit codes:
  0           done
  1           unlock: there was no such lock; doctor: warnings;
              run: see --conflict-exit-code
  2           doctor: something breaks locks
  64          wrong usage or configuration; run: a run around it holds the lock
  65          the name belongs to data of another type, or Redis refuses the command
  69          Redis cannot be reached, does not answer, does not let us in, or
              refuses to write
  74          the output cannot be written, e.g. on a full disk
  75          run: the lock was lost while the command ran
  126, 127    run: the command cannot be executed, there is no such command
  128+n       run: signal n ended the command, or the wait for the lock; 141: the
              reader of the output has gone, as with | head

Environment:
  REDIS_URL   where Redis is, unless --url or --config says it
              (default: redis://127.0.0.1:6379); ps does not show it
`,
  run: `
Times are 500ms, 10s, 1.5s, 2m, 1h, 1d; a bare number is seconds. A name that
begins with - has a -- of its own before it: run -- -name -- command.

The command has our stdin, stdout and stderr. It sees IOREDISSON_LOCK, the name
of the lock, and with --type fenced IOREDISSON_TOKEN, which is greater than the
token of every holder before. IOREDISSON_HELD is for nested runs: one of a lock
that a run around it holds would wait for itself, and is refused (64). Readers
within a reader are not.

With --at-least the lock stays for that long after it was acquired, although the
command has ended, failed or been stopped by a signal: a machine whose clock is a
little late does not run it again. Without it, the lock is given back at once.

TERM, INT, HUP, QUIT, USR1 and USR2 are passed on to the command and what it
has started; while still waiting they end the wait. The lock is given back after
the command has ended. What it leaves behind in its process group is ended
(TERM, the grace, KILL) before that. If ioredisson itself is killed, the command
is ended the same way.

With a terminal the command shares our process group: it can ask for a password,
Ctrl-C and Ctrl-Z, fg and bg work as with flock(1). While a job is stopped nobody
renews the lock: one that is stopped for longer than the lease (30 s, or --lease)
loses it, and is ended when it goes on. Without a terminal (cron, a service) the
command gets a process group and a session of its own.

run needs a POSIX system: Linux, macOS, BSD, or WSL on Windows. Elsewhere than on
Linux, what the command has left behind is not found if it had a terminal.

The exit code is that of the command, 128+n where signal n ended it, or:
  1     not acquired (--conflict-exit-code)    75    the lock was lost
  64    wrong usage, or a nested run           126   cannot be executed
  69    Redis is unreachable or refuses        127   no such command
`,
  list: `
The keys are walked over with SCAN. WAITERS is the length of a fair lock's
queue, else the number of connections that listen for the release. A semaphore
or latch is listed while somebody waits for it: any counter looks like one. Once
the processes that wait have said so (after 5 s), WAITERS is how many callers
wait, and the longest of them for how long. What is in trouble comes first, then
what has been waited for longest. A long NAME is cut in the middle, and lines end
where the terminal does; --json has all, by name.

The kind is what the data in Redis look like. A fair lock that nobody waits for
looks like a plain one. A lock is shown as fenced while the counter of its name
exists, also when somebody took it as a plain one.

PROCESS is host/process id of an owner, by the name of its connection and CLIENT
LIST; "gone": it is not connected any more; "?": unknown, see inspect. VERDICT:
free, held, stuck, dead-lock, holder-gone, not-renewed (its holder is connected,
and does not answer), no-expiry, wrong-type. What to do about each is in
docs/something-hangs.md.

--json prints an array of what inspect --json prints.
`,
  inspect: `
The client of an owner is a Node client where the thread id is one that only
this package gives; other ids may be Java's, or explicit ones.

Exit code 1: there is nothing by that name. 65: data that are no lock or
synchronizer (kind other).

--json prints one object. Times are milliseconds.
  name, key     as given to getLock; the key in Redis
  kind          lock, fair, fenced, readWrite, semaphore,
                permitExpirableSemaphore, countDownLatch, number, other, none
  mode          read or write; of a read/write lock
  ttlMs         until the key expires; -1 without expiry, -2 without key
  verdict       kind (see list --help), sentence, endsAt (ms since 1970),
                circle (of a dead-lock: who has what, and waits for what)
  heldSince     ms since 1970: as its holder says; absent where it cannot be
                asked (Java, or held for less than 5 s)
  holders       array of owner, clientId, threadId (text), client (node or
                unknown), holdCount, process; of a read/write lock mode and
                leasesMs; of a group values (how many the owner has).
                process: connected (true, false, "unknown"), java (probably),
                host, pid, address, connectedForMs, unknownBecause.
                hold: what its client says: since (ms since 1970), leaseMs
                (-1: the watchdog renews it; null: no lease), renewals, delayMs
                (how late its event loop is), utilization (0 to 1), callSite.
                waitsFor: what it waits for itself (name, since)
                silent: true where its client listens and does not answer,
                silentSince: since when (ms since 1970)
  waiters       see list --help
  waiting       processes that say that they wait: array of clientId, host,
                pid, callers, since (ms since 1970), callSite
  queue         of a fair lock: array of owner, clientId, threadId, client,
                process, remainingMs (null: unknown), listening
  token         of a fenced lock: the last one given, as text
  value         permits left, count of a latch, or the number; as text beyond
                2^53, where a JSON number is inexact
  acquired      of a semaphore with leases: permits that are out
  permits       of a semaphore with leases, at most 1000: array of id,
                remainingMs (null: no lease)
  channels      array of name, subscribers
`,
  unlock: `
A holder that is alive goes on until its next renewal, at most a third of
lockWatchdogTimeout later: make sure that it is gone. A read lock is taken from
all its readers.

Exit code 1: it was not locked. 65: it is no lock.

--json prints name, kind, released, and the holders as inspect --json has them.
`,
  top: `
Each look walks over the keys for half of the interval: a large keyspace takes
several until all of it has been seen. Where stdout is no terminal the frames are
printed one after the other. What is in trouble comes first, then what has been
waited for longest: "40 for 12 s" is what the processes say (see list), or how
long top has seen somebody wait.
`,
  dashboard: `
It prints the address of the page. The page has no login: it listens on this
machine only, unless --host says otherwise. It is asked for by an address, by
localhost, by --host, or by the name of this machine, and not by other names: a
page of another site could use one.

With --allow-unlock a lock is released after its name was typed. Each release is
said on stderr. To put the page behind a login, serve it from a program of your
own: docs/dashboard.md.
`,
  doctor: `
Every master is looked at:
  reachable     whether it answers, and how fast
  lock          whether a lock of its own can be taken and given back
  version       of the server
  memory        eviction policy, and what is left of maxmemory
  persistence   whether a restart forgets locks, and whether the last save worked
  replicas      whether a failover does; min-replicas-to-write
  pubsub        classic or sharded messages, on a cluster
  rights        of the user, for each kind of lock (ACL DRYRUN of Redis 7)
  clock         of the server against that of this machine: run it where the
                clients run
  buffers       output buffer limits of subscribers
  timeouts      of server and client
  provider      commands that a managed service refuses, and what that costs

Each line is ok, WARNING, ERROR, or UNKNOWN where it could not be checked, with
why it matters and what to do. Passwords are never shown.

Exit code 0: all is ok; 1: warnings, or something could not be checked; 2: errors.

--json prints an array of check, status (ok, warning, error, unknown), server
(host:port of a cluster's master, else -), found, why, advice.
`,
  completion: `
The script knows the commands and their options; it asks Redis nothing. After an
update of ioredisson it is to be made anew, unless it is made when the shell starts.
`,
};

const EXAMPLES: Readonly<Record<string, readonly (readonly [what: string, line: string])[]>> = {
  run: [
    ['one backup at a time in the fleet; the others skip theirs', 'ioredisson run -n backup -- /usr/local/bin/backup'],
    [
      'from the crontabs of several machines: once, and not again within 50 s',
      'ioredisson run -n --at-least 50s report -- /usr/local/bin/report',
    ],
    [
      'wait for at most ten minutes, and say who holds it',
      'ioredisson run -v -w 10m migrate:orders -- npm run migrate',
    ],
    ['several commands', "ioredisson run deploy -- sh -c 'git pull && make install'"],
    ['the order of asking decides', 'ioredisson run -t fair reports -- ./report.sh'],
    ['the configuration of a Java service', 'ioredisson run -c redisson.yaml orders -- ./import.sh'],
  ],
  list: [
    ['all', 'ioredisson list'],
    ['of one service', "ioredisson list 'order:*'"],
    ['names only', "ioredisson list --json | jq -r '.[].name'"],
  ],
  inspect: [
    ['who has it, who waits', 'ioredisson inspect backup'],
    ['its owners', "ioredisson inspect --json backup | jq -r '.holders[].owner'"],
  ],
  unlock: [
    ['its holder has crashed, and nobody wants to wait for the lease to end', 'ioredisson unlock --force backup'],
  ],
  doctor: [
    ['before a service goes live, as its user', 'ioredisson doctor -c redisson.yaml order:1'],
    ['what is wrong', 'ioredisson doctor --json | jq -r \'.[] | select(.status == "error") | .found\''],
  ],
  top: [
    ['watch', 'ioredisson top'],
    ['a look every ten seconds, into a file', "ioredisson top -i 10s 'order:*' >> locks.log"],
  ],
  dashboard: [
    ['on this machine', 'ioredisson dashboard'],
    ['of a server elsewhere, through ssh', 'ssh -L 7380:127.0.0.1:7380 bastion ioredisson dashboard'],
  ],
  completion: [
    ['bash: in ~/.bashrc', 'source <(ioredisson completion bash)'],
    ['zsh: in ~/.zshrc, after compinit', 'source <(ioredisson completion zsh)'],
    ['fish: once', 'ioredisson completion fish > ~/.config/fish/completions/ioredisson.fish'],
  ],
};

/** What the help of a command says below its options: what it promises, and examples. @param command - '': the program */
export function notesOf(command: string): string {
  const examples = (EXAMPLES[command] ?? []).map(([what, line]) => `  # ${what}\n  ${line}`);
  return (NOTES[command] ?? '') + (examples.length === 0 ? '' : `\nExamples:\n${examples.join('\n')}\n`);
}
