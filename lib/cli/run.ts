import { type ObjectKind, Redisson } from '../index';
import { ALL_KINDS } from '../doctor';
import { type ClientOptions, readClientOptions } from './clientOptions';
import { ExitCode, Failure } from './exit';
import { LockedRun } from './LockedRun';
import { CLEANUP_MS, within } from './output';

/** The options of `run`, as commander reads them. Times in ms. */
export interface RunOptions extends ClientOptions {
  readonly wait?: number;
  readonly nonblock?: true;
  readonly lease?: number;
  readonly type: ObjectKind;
  readonly conflictExitCode: number;
  readonly grace: number;
}

/** `ioredisson run`. @returns the exit code */
export async function run(name: string, command: readonly string[], options: RunOptions): Promise<number> {
  if (process.platform === 'win32') {
    throw new Failure('run needs POSIX signals and process groups: use it within WSL', ExitCode.unavailable);
  }
  const client = Redisson.create(await readClientOptions(options));
  try {
    const [file = '', ...args] = command;
    const { lockOf } = ALL_KINDS.find((kind) => kind.name === options.type)!;
    const locked = new LockedRun(client, lockOf!(client, name), {
      command: file,
      args,
      waitMs: options.nonblock === true ? 0 : options.wait,
      leaseMs: options.lease,
      graceMs: options.grace,
      conflictExitCode: options.conflictExitCode,
    });
    return await locked.run();
  } finally {
    await within(client.shutdown(), CLEANUP_MS);
  }
}
