import { type ChildProcess, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import type { Socket } from 'node:net';

/**
 * Makes the servers a test process starts die with it, however it ends.
 *
 * `process.on('exit')` covers a normal end and an uncaught exception, but no signal, and nothing at all covers SIGKILL.
 * So a small shell holds the other end of a pipe; when the pipe closes, its writer is gone, and the shell kills what is
 * left (SIGKILL: a server stopped by SIGSTOP heeds nothing else) and removes the folders.
 */
const SHELL = `
trap '' INT TERM HUP
alive=''
while read -r what pid folder; do
  case "$what" in
    add) alive="$alive $pid=$folder" ;;
    drop) kept=''; for one in $alive; do [ "\${one%%=*}" = "$pid" ] || kept="$kept $one"; done; alive=$kept ;;
  esac
done
for one in $alive; do kill -KILL "\${one%%=*}"; rm -rf "\${one#*=}"; done
`;

const supervised = new Map<number, string>();
let shell: ChildProcess | undefined;

/** From now on process `pid` is killed and `folder` (no blanks in its name) is removed when this process ends. */
export function supervise(pid: number, folder: string): void {
  if (shell === undefined) {
    shell = spawn('/bin/sh', ['-c', SHELL], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
    shell.on('error', () => undefined);
    shell.stdin?.on('error', () => undefined);
    shell.unref();
    (shell.stdin as Socket | null)?.unref();
    process.on('exit', killAll);
  }
  supervised.set(pid, folder);
  shell.stdin?.write(`add ${pid} ${folder}\n`);
}

/** The process has ended: its id may belong to somebody else soon. */
export function release(pid: number): void {
  if (supervised.delete(pid)) shell?.stdin?.write(`drop ${pid}\n`);
}

function killAll(): void {
  for (const [pid, folder] of supervised) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // gone already
    }
    fs.rmSync(folder, { recursive: true, force: true });
  }
}
