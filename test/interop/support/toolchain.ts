import * as fs from 'node:fs';
import * as path from 'node:path';

/** The Redisson the suites compare with, unless they are about another version. */
export const NEWEST = '4.7.0';

/** Earlier releases, each the first or last of an era of the wire protocol; `docs/interop.md` says what differs. */
export const OLDER = ['4.2.0', '3.52.0', '3.27.2', '3.16.8'] as const;

/** Whether release `version` came before release `other`. */
export function isBefore(version: string, other: string): boolean {
  const [a, b] = [version, other].map((text) => text.split('.').map(Number)) as [number[], number[]];
  const differing = a.findIndex((part, index) => part !== b[index]);
  return differing >= 0 && (a[differing] ?? 0) < (b[differing] ?? 0);
}

/** Why there can be no Java side here, in one line; `undefined` where there can. */
export function whyNoJava(): string | undefined {
  const missing = ['java', 'mvn'].filter((command) => !onPath(command));
  return missing.length === 0
    ? undefined
    : `needs ${missing.join(' and ')} on the PATH (JDK 17 and Maven 3.8 or later)`;
}

function onPath(command: string): boolean {
  return (process.env['PATH'] ?? '')
    .split(path.delimiter)
    .filter((folder) => folder !== '')
    .some((folder) => {
      try {
        fs.accessSync(path.join(folder, command), fs.constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}
