import { type ChildProcess, spawn } from 'node:child_process';

const running = new Set<ChildProcess>();

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
    running.add(child);
    const end = (succeeded: boolean): void => {
      clearTimeout(timer);
      running.delete(child);
      resolve({ succeeded, stdout, output });
    };
    const timer = setTimeout(() => {
      output += `\nended after ${limitMs / 1000} s\n`;
      kill(child);
      end(false);
    }, limitMs);
    child.once('error', (error) => {
      output += `${error.message}\n`;
      end(false);
    });
    child.once('close', (code) => end(code === 0));
  });
}

function kill({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

// They are not in the group of the terminal, so Ctrl-C does not reach them.
for (const [signal, number] of [
  ['SIGINT', 2],
  ['SIGTERM', 15],
] as const) {
  process.once(signal, () => process.exit(128 + number));
}
process.once('exit', () => running.forEach(kill));
