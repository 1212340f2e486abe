import { type ObjectKind, Redisson } from '../../index';
import { ALL_KINDS, inTime } from '../doctor';
import { type ClientOptions, readClientOptions } from './clientOptions';
import { ExitCode, Failure } from './exit';
import type * as inspectionModule from '../inspection';
import { LockedRun } from './LockedRun';
import { isNested, refuseNested } from './nesting';
import { CLEANUP_MS } from './output';
import { WaitReporter } from './WaitReporter';

/** The options of `run`, as commander reads them. Times in ms. */
export interface RunOptions extends ClientOptions {
  readonly wait?: number;
  readonly nonblock?: true;
  readonly lease?: number;
  readonly atLeast?: number;
  readonly verbose?: true;
  readonly type: ObjectKind;
  readonly conflictExitCode: number;
  readonly grace: number;
}

/** `ioredisson run`. @returns the exit code */
export async function run(name: string, command: readonly string[], options: RunOptions): Promise<number> {
  if (process.platform === 'win32') {
    throw new Failure('run needs POSIX signals and process groups: use it within WSL', ExitCode.unavailable);
  }
  const config = await readClientOptions(options);
  const inspector = options.verbose === true || isNested() ? inspectorOf(config) : undefined;
  const client = Redisson.create(config);
  try {
    if (inspector !== undefined && isNested()) await refuseNested(inspector, name, options.type);
    const [file = '', ...args] = command;
    const { lockOf } = ALL_KINDS.find((kind) => kind.name === options.type)!;
    const locked = new LockedRun(client, lockOf!(client, name), {
      command: file,
      args,
      waitMs: options.nonblock === true ? 0 : options.wait,
      leaseMs: options.lease,
      atLeastMs: options.atLeast ?? 0,
      graceMs: options.grace,
      conflictExitCode: options.conflictExitCode,
      ...(options.verbose === true && { reporter: new WaitReporter(inspector!, name) }),
    });
    return await locked.run();
  } finally {
    await Promise.all([inTime(client.shutdown(), CLEANUP_MS), inspector && inTime(inspector.close(), CLEANUP_MS)]);
  }
}

/** Loaded when asked for: `run` starts as fast as it can. */
function inspectorOf(config: Parameters<typeof Redisson.create>[0]): inspectionModule.Inspector {
  // eslint-disable-next-line @typescript-eslint/no-require-imports
  const { Inspector } = require('../inspection') as typeof inspectionModule;
  return Inspector.open(config);
}
