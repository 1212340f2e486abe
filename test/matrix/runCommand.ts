import { spawn } from 'node:child_process';

/** How a command ended. */
export interface CommandEnd {
  /** Whether it ended by itself, with exit code 0. */
  readonly succeeded: boolean;
  readonly stdout: string;
  /** Standard output and error, as they came. */
  readonly output: string;
}

/**
 * Runs a program without a shell and without input. One that is not there has not succeeded.
 *
 * @param limitMs - it is killed after that
 */
export function runCommand(
  file: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv; readonly limitMs: number },
): Promise<CommandEnd> {
  const { limitMs, ...rest } = options;
  return new Promise((resolve) => {
    // A group of its own, so that the time limit ends what it has started, too.
    const child = spawn(file, [...args], { ...rest, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    let stdout = '';
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      output += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
    const end = (succeeded: boolean): void => {
      clearTimeout(timer);
      resolve({ succeeded, stdout, output });
    };
    const timer = setTimeout(() => {
      output += `\nended after ${limitMs / 1000} s\n`;
      kill(child.pid);
      end(false);
    }, limitMs);
    child.once('error', (error) => {
      output += `${error.message}\n`;
      end(false);
    });
    child.once('close', (code) => end(code === 0));
  });
}

function kill(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
