import { type ChildProcess, spawn } from 'node:child_process';
import { within } from './output';

/** What the guard waits between two looks, in ms. */
const TICK_MS = 100;
/** How long to wait for the end of a guard that was sent home, in ms. */
const END_MS = 1_000;

/**
 * Reads lines until the pipe closes. `done` sends it home; a pipe that closes without it means that we died. Then the
 * group is ended as we would have ended it. `$1` is the grace in ticks of 0.1 s.
 */
const SHELL = `
trap '' INT TERM HUP QUIT USR1 USR2 PIPE TSTP TTIN TTOU
group=''
while read -r what id; do
  case "$what" in
    group) group=$id ;;
    done) exit 0 ;;
  esac
done
[ -n "$group" ] || exit 0
if [ "$1" -gt 0 ]; then
  kill -s TERM -- "-$group"
  kill -s CONT -- "-$group"
fi
ticks=0
while [ "$ticks" -lt "$1" ] && kill -s 0 -- "-$group"; do
  sleep 0.1
  ticks=$((ticks + 1))
done
kill -s KILL -- "-$group"
`;

/**
 * A small shell that outlives us when we are killed without a chance to do anything (SIGKILL, out of memory), and then
 * ends the command, so that it does not run on without the lock. The lock itself runs out with its lease.
 *
 * States: watching nobody -> watching a group -> sent home | left alone: ends the group.
 */
export class Guard {
  readonly #shell: ChildProcess;
  readonly #ended: Promise<void>;

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
    this.#ended = new Promise((resolve) => {
      this.#shell.once('error', () => resolve());
      this.#shell.once('exit', () => resolve());
    });
  }

  /** From now on it guards that group. Written at once: we may be killed in the next moment. */
  watch(group: number): void {
    this.#tell(`group ${group}\n`);
  }

  /** Sends it home: the group is gone. Resolves when the guard is gone, too. */
  async dismiss(): Promise<void> {
    this.#tell('done\n');
    this.#shell.stdin?.end();
    await within(this.#ended, END_MS);
  }

  /** A write to an idle pipe is done before it returns; where the guard is gone, nothing else depends on it. */
  #tell(line: string): void {
    this.#shell.stdin?.write(line);
  }
}
