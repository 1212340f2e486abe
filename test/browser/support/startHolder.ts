import { buildSync } from 'esbuild';
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import * as path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { projectRoot } from '../../../tools/buildOutput';
import { trackClient } from '../../support';

/** Another process that takes a lock, says so on its output, and holds it until it is killed. */
export function startHolder(url: string, name: string): ChildProcessByStdio<Writable, Readable, null> {
  // ts-node would take seconds to start.
  const { outputFiles } = buildSync({
    entryPoints: [path.join(__dirname, 'holder.ts')],
    bundle: true,
    platform: 'node',
    packages: 'external',
    write: false,
  });
  const child = spawn(process.execPath, ['-', url, name], {
    cwd: projectRoot,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(outputFiles[0]!.contents);
  trackClient({ stop: () => child.kill('SIGKILL') });
  return child;
}
