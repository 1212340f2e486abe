import { carriesMark, runningProcesses } from './processes';

/** The processes that signals for the command go to. */
export interface Members {
  /** Whether any of them runs. */
  run(): boolean;
  signal(signal: NodeJS.Signals): void;
}

/** The members of a process group. */
export class OwnGroup implements Members {
  readonly #group: number;

  /** @param group - its id, the process id of its leader */
  constructor(group: number) {
    this.#group = group;
  }

  run(): boolean {
    if (!send(-this.#group, 0)) return false;
    if (process.platform !== 'linux') return true;
    try {
      return runningProcesses().some(({ group }) => group === this.#group);
    } catch {
      return true;
    }
  }

  signal(signal: NodeJS.Signals): void {
    send(-this.#group, signal);
  }
}

/**
 * The command and what it has started, in a group that they share with us, and with whom we do not know: the other
 * commands of a pipe, the script that started us. They are told apart by who started them, and, where that has gone, by
 * a mark in their environment.
 */
export class SharedGroup implements Members {
  readonly #leader: number;
  readonly #mark: string;

  /** @param leader - the process id of the command @param mark - the value of `MARK` in its environment */
  constructor(leader: number, mark: string) {
    this.#leader = leader;
    this.#mark = mark;
  }

  run(): boolean {
    return this.#members().length > 0;
  }

  signal(signal: NodeJS.Signals): void {
    for (const pid of this.#members()) send(pid, signal);
  }

  #members(): number[] {
    const all = runningProcesses();
    const self = all.find(({ pid }) => pid === process.pid);
    if (self === undefined) return [];
    const descendants = new Set([this.#leader]);
    for (let size = 0; size !== descendants.size;) {
      size = descendants.size;
      for (const { pid, parent } of all) if (descendants.has(parent)) descendants.add(pid);
    }
    const isMember = ({ pid, group, session }: (typeof all)[number]): boolean =>
      descendants.has(pid) ? session === self.session : group === self.group && carriesMark(pid, this.#mark);
    return all.filter(isMember).map(({ pid }) => pid);
  }
}

/** @returns whether there was somebody to send it to */
function send(target: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(target, signal);
    return true;
  } catch (error) {
    // EPERM: there are some, all of other users.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
