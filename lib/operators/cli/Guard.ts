import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { inTime } from '../doctor';
import { MARK } from './processes';

/** What the guard waits between two looks, in ms. */
const TICK_MS = 100;
/** How long to wait for the end of a guard that was told to stop, in ms. */
const END_MS = 1_000;

/**
 * Reads lines until the pipe closes. `done` stops it; a pipe that closes without it means that we died. Then the
 * command is ended as we would have ended it: its group, or what has the mark, or, where a mark cannot be seen, the
 * command alone. The mark is also for a command that was started, but whose group could not be said any more: it may run
 * before we do, and we may be killed in that moment. `$1` is the grace in ticks of 0.1 s.
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
 * A small shell that outlives us when we are killed without a chance to do anything (SIGKILL, out of memory), and then
 * ends the command, so that it does not run on without the lock. The lock itself runs out with its lease.
 *
 * States: watching nobody -> watching a command -> stopped | left alone: ends the command.
 */
export class Guard {
  readonly #shell: ChildProcess;
  readonly #ended: Promise<unknown>;

  /** @param graceMs - what the command gets between TERM and KILL, in ms */
  constructor(graceMs: number) {
    const ticks = String(Math.ceil(graceMs / TICK_MS));
    this.#shell = spawn('/bin/sh', ['-c', SHELL, 'ioredisson-guard', ticks], {
      // No terminal to hear from, no folder kept busy, no descriptor of ours kept open.
      detached: true,
      cwd: '/',
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#shell.stdin?.on('error', () => undefined);
    // One that could not be started has ended, too.
    this.#ended = once(this.#shell, 'exit').catch(() => undefined);
  }

  /** From now on it guards what has that mark, in whatever group. Said before it is started. */
  watchMark(mark: string): void {
    this.#tell(`mark ${MARK}=${mark}\n`);
  }

  /** From now on it guards that process, or, where the id is negative, that group. We may be killed the next moment. */
  watch(id: number): void {
    this.#tell(`target ${id}\n`);
  }

  /** Stops it: the group is gone. Resolves when the guard is gone, too. */
  async dismiss(): Promise<void> {
    this.#tell('done\n');
    this.#shell.stdin?.end();
    await inTime(this.#ended, END_MS);
  }

  /** A write to an idle pipe is done before it returns; where the guard is gone, nothing else depends on it. */
  #tell(line: string): void {
    this.#shell.stdin?.write(line);
  }
}
