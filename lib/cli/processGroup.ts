import { readdirSync, readFileSync } from 'node:fs';

/** Sends a signal to every process of a group. @returns whether there was one */
export function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-group, signal);
    return true;
  } catch (error) {
    // EPERM: there are some, all of other users.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Whether a process of a group still runs. Zombies do not count, as far as that can be seen: nobody may ever collect
 * them in a container whose first process does not.
 */
export function groupRuns(group: number): boolean {
  if (!signalGroup(group, 0)) return false;
  if (process.platform !== 'linux') return true;
  try {
    return readdirSync('/proc').some((entry) => /^\d+$/.test(entry) && isRunningMember(entry, group));
  } catch {
    return true;
  }
}

function isRunningMember(pid: string, group: number): boolean {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return false;
  }
  // pid (name) state parent group ...; the name may hold anything.
  const [state, , itsGroup] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(itsGroup) === group && state !== 'Z' && state !== 'X';
}
