import { Redis } from 'ioredis';
import { contestantById } from '../harness/contestants';
import { defaultWatchdogMs } from '../harness/scenario';
import { WorkerGroup } from '../harness/WorkerGroup';
import { LockScripts } from '../references/lockScripts';
import { cpuMs, type Curve, type CurveReport, type Field } from './curve';

/**
 * Runs the curves one after the other, on a server that is flushed after each point.
 *
 * @param url - of a server that belongs to this run
 * @param tiny - only the first two points, to show that everything runs
 */
export async function runGrowth(
  all: readonly Curve[],
  url: string,
  tiny: boolean,
  progress: (line: string) => void,
): Promise<CurveReport[]> {
  const server = new Redis(url);
  const reports: CurveReport[] = [];
  try {
    const floorCpuMs = await rawCpuMs(server, url, tiny ? 200 : 20_000);
    const field: Field = {
      server,
      floorCpuMs,
      tiny,
      async open(processes, watchdogMs = defaultWatchdogMs) {
        const group = new WorkerGroup(contestantById('ioredisson'), processes, { url, watchdogMs });
        await group.restart();
        return group;
      },
    };
    for (const { measure, ...about } of all) {
      const rows: CurveReport['rows'][number][] = [];
      for (const point of tiny ? about.points.slice(0, 2) : about.points) {
        progress(`${about.id}: ${point} ${about.of}`);
        rows.push({ point, values: await measure(field, point) });
        await server.flushall();
      }
      reports.push({ ...about, rows });
    }
  } finally {
    server.disconnect();
  }
  return reports;
}

/** CPU time of the server for the two scripts of a raw lock, in ms. */
async function rawCpuMs(server: Redis, url: string, times: number): Promise<number> {
  const scripts = await LockScripts.connect(url, defaultWatchdogMs);
  try {
    const before = await cpuMs(server);
    for (let i = 0; i < times; i++) {
      await scripts.attempt('bench:raw', 'raw');
      await scripts.release('bench:raw', 'bench:raw:channel', 'raw');
    }
    return ((await cpuMs(server)) - before) / times;
  } finally {
    scripts.redis.disconnect();
  }
}
