import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { inTime } from '../doctor';
import { MARK } from './processes';

/** Time between two checks of the guard, in ms. */
const TICK_MS = 100;
/** How long to wait for a guard to exit after `done`, in ms. */
const END_MS = 1_000;

/**
 * Reads lines until the pipe closes. The line `done` stops it. If the pipe closes without `done`, we have died, and it
 * ends the command as we would have: its group, or all processes with the mark, or, where it cannot read marks, the
 * command alone. The mark also covers a command that has just started: it may run before we can send its group, and we
 * may be killed at that moment. `$1` is the grace in ticks of 0.1 s.
 */
const SHELL = `
trap '' INT TERM HUP QUIT USR1 USR2 PIPE TSTP TTIN TTOU
target=''
mark=''
while read -r what id; do
  case "$what" in
    target) target=$id ;;
    mark) mark=$id ;;
    done) exit 0 ;;
  esac
done
send() {
  case "$target" in
    -*) kill -s "$1" -- "$target"; return ;;
  esac
  if [ -n "$mark" ] && [ -r /proc/self/environ ]; then
    sent=1
    for file in $(grep -lsF -- "$mark" /proc/[0-9]*/environ); do
      pid=\${file#/proc/}
      kill -s "$1" "\${pid%/environ}" && sent=0
    done
    return $sent
  fi
  [ -n "$target" ] && kill -s "$1" -- "$target"
}
[ -n "$target$mark" ] || exit 0
if [ "$1" -gt 0 ]; then
  send TERM
  send CONT
fi
ticks=0
while [ "$ticks" -lt "$1" ] && send 0; do
  sleep 0.1
  ticks=$((ticks + 1))
done
send KILL
`;

/**
 * A small shell that outlives us when we are killed and can do nothing (SIGKILL, out of memory). It then ends the
 * command, which must not run on without the lock. The lock itself expires with its lease.
 *
 * States: idle -> watching a command -> stopped | orphaned: ends the command.
 */
export class Guard {
  readonly #shell: ChildProcess;
  readonly #ended: Promise<unknown>;

  /**
   * @param graceMs - time between TERM and KILL, in ms
   * @param mark - all processes with this mark are guarded, in any group: make the guard before the command starts
   */
  constructor(graceMs: number, mark: string) {
    const ticks = String(Math.ceil(graceMs / TICK_MS));
    this.#shell = spawn('/bin/sh', ['-c', SHELL, 'ioredisson-guard', ticks], {
      // It gets no signals from a terminal, blocks no directory, and keeps none of our descriptors open.
      detached: true,
      cwd: '/',
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#shell.stdin?.on('error', () => undefined);
    // A failed start counts as an exit, too.
    this.#ended = once(this.#shell, 'exit').catch(() => undefined);
    this.#tell(`mark ${MARK}=${mark}\n`);
  }

  /** Guards this process or, if the id is negative, this group. Effective at once: we may be killed the next moment. */
  watch(id: number): void {
    this.#tell(`target ${id}\n`);
  }

  /** Stops the guard after the group has ended. Resolves when the guard has exited, or after a time limit. */
  async dismiss(): Promise<void> {
    this.#tell('done\n');
    this.#shell.stdin?.end();
    await inTime(this.#ended, END_MS);
  }

  /** A write to an idle pipe is done before it returns. If the guard is gone, a lost line does no harm. */
  #tell(line: string): void {
    this.#shell.stdin?.write(line);
  }
}
