import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readdirSync, readFileSync } from 'node:fs';

/** The facts about a process that matter here. */
interface ProcessFacts {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** 0 where the system does not report it. */
  readonly session: number;
}

/** Environment variable that marks the command and all its descendants. */
export const MARK = 'IOREDISSON_RUN';

/** Whether we have a terminal on which a command can ask for a password. */
export function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', constants.O_RDWR | constants.O_NOCTTY));
    return true;
  } catch {
    return false;
  }
}

/**
 * The running processes, without zombies: in a container whose first process does not reap them, they stay for ever.
 */
function runningProcesses(): ProcessFacts[] {
  if (process.platform !== 'linux') return processesByPs();
  const pids = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry));
  return pids.map((pid) => factsOf(Number(pid))).filter((facts) => facts !== undefined);
}

/** A file about a process. Known on Linux alone. @returns no text where there is none, or none that we may read */
function factsFile(pid: number, file: 'environ' | 'stat' | 'status'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return '';
  }
}

/** Whether a process has our mark in its environment, its own or inherited. Known on Linux alone. */
function carriesMark(pid: number, mark: string): boolean {
  return factsFile(pid, 'environ').split('\0').includes(`${MARK}=${mark}`);
}

/** Whether a signal is pending for a process: sent, but not delivered yet. Known on Linux alone. */
export function isPending(pid: number, signal: number): boolean {
  const [, bits] = /^ShdPnd:\s*([0-9a-f]+)/m.exec(factsFile(pid, 'status')) ?? [];
  return bits !== undefined && ((BigInt(`0x${bits}`) >> BigInt(signal - 1)) & 1n) === 1n;
}

function factsOf(pid: number): ProcessFacts | undefined {
  const stat = factsFile(pid, 'stat');
  if (stat === '') return undefined;
  // pid (name) state parent group session ...; the name may contain any character.
  const [state, parent, group, session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (state === 'Z' || state === 'X') return undefined;
  return { pid, parent: Number(parent), group: Number(group), session: Number(session) };
}

function processesByPs(): ProcessFacts[] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,pgid=,stat='], { encoding: 'utf8' }).trim().split('\n');
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , state = '']) => !state.startsWith('Z'))
    .map(([pid, parent, group]) => ({ pid: Number(pid), parent: Number(parent), group: Number(group), session: 0 }));
}

/**
 * Whether a signal target runs. A group of zombies does not, although the kernel takes signals for it. Only this check
 * reads /proc, and no signal waits for its result: /proc may hide processes that signals reach.
 *
 * @param target - a process, or, negative, a group
 */
export function isRunning(target: number): boolean {
  if (!send(target, 0)) return false;
  if (target > 0 || process.platform !== 'linux') return true;
  try {
    return runningProcesses().some(({ group }) => group === -target);
  } catch {
    return true;
  }
}

/**
 * The running processes of the command when it shares our process group. That group also has processes that we do not
 * know: the other commands of a pipe, the script that started us. We recognize the command's own by their parent or,
 * if that has exited, by a mark in their environment.
 *
 * @param leader - the process id of the command
 * @param mark - the value of `MARK` in its environment
 * @returns a signal target for each of them
 */
export function sharedGroup(leader: number, mark: string): readonly number[] {
  const all = runningProcesses();
  const self = all.find(({ pid }) => pid === process.pid);
  if (self === undefined) return [];
  const descendants = new Set([leader]);
  for (let size = 0; size !== descendants.size;) {
    size = descendants.size;
    for (const { pid, parent } of all) if (descendants.has(parent)) descendants.add(pid);
  }
  const isMember = ({ pid, group, session }: ProcessFacts): boolean =>
    descendants.has(pid) ? session === self.session : group === self.group && carriesMark(pid, mark);
  return all.filter(isMember).map(({ pid }) => pid);
}

/**
 * @param target - a process, or, negative, a group
 * @returns whether the target exists
 */
export function send(target: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(target, signal);
    return true;
  } catch (error) {
    // EPERM: the target exists, but belongs to other users.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
