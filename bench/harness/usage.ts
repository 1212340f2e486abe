import { type Task } from './task';
import { type WorkerGroup } from './WorkerGroup';

/** What the workers of a group and the server have used so far. */
export interface Usage {
  /** Commands that the workers sent. */
  readonly commands: number;
  /** CPU time of the workers, in microseconds. */
  readonly clientsCpuUs: number;
  /** CPU time of the server, in microseconds. */
  readonly serverCpuUs: number;
}

type WorkerUsage = Omit<Usage, 'serverCpuUs'>;

/** Worker side; the scenario must have it under the name `usage`. */
export const usageTask: Task = ({ counter }) => {
  const { user, system } = process.cpuUsage();
  return Promise.resolve({ commands: counter.sent, clientsCpuUs: user + system } satisfies WorkerUsage);
};

/** @param scenario - whose workers they are */
export async function usageOf(group: WorkerGroup, scenario: string): Promise<Usage> {
  const workers = (await group.callAll(scenario, 'usage')) as WorkerUsage[];
  return {
    commands: workers.reduce((sum, { commands }) => sum + commands, 0),
    clientsCpuUs: workers.reduce((sum, { clientsCpuUs }) => sum + clientsCpuUs, 0),
    serverCpuUs: await group.serverCpuUs(),
  };
}

/** What was used between two readings, for each of so many acquisitions. */
export function usedEach(before: Usage, after: Usage, acquisitions: number): Usage {
  const each = (name: keyof Usage): number => (after[name] - before[name]) / Math.max(1, acquisitions);
  return { commands: each('commands'), clientsCpuUs: each('clientsCpuUs'), serverCpuUs: each('serverCpuUs') };
}
