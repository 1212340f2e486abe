import { type Redis } from 'ioredis';
import { type WorkerGroup } from '../harness/WorkerGroup';

/** What a curve has to measure with. */
export interface Field {
  /** A fresh group of so many processes of this package. @param watchdogMs - life of a lock without a lease */
  open(processes: number, watchdogMs?: number): Promise<WorkerGroup>;
  /** A connection to the server of this run. */
  readonly server: Redis;
  /** CPU time that a raw lock and unlock (two EVALSHA) takes of this server, in ms. */
  readonly floorCpuMs: number;
  /** Whether only shows that everything runs. */
  readonly tiny: boolean;
}

/** One number of each point of a curve. */
export interface Column {
  readonly id: string;
  readonly label: string;
  /**
   * What it may do while the work grows: `flat`: a cost of one unit, which should not change; `wire`: it grows since
   * the data on the wire demands it, see {@link Column.why}; `work`: it is the work itself.
   */
  readonly growth: 'flat' | 'wire' | 'work';
  /** Why it grows, for `wire`. */
  readonly why?: string;
}

/** How a cost grows with the work. */
export interface Curve {
  readonly id: string;
  readonly title: string;
  readonly about: string;
  /** The unit of the points. */
  readonly of: string;
  readonly points: readonly number[];
  readonly columns: readonly Column[];
  measure(field: Field, point: number): Promise<Readonly<Record<string, number>>>;
}

/** A curve with what was measured. */
export interface CurveReport extends Omit<Curve, 'measure'> {
  readonly rows: readonly { readonly point: number; readonly values: Readonly<Record<string, number>> }[];
}

/** CPU time that the server has used so far, in ms. */
export async function cpuMs(server: Redis): Promise<number> {
  const info = await server.info('cpu');
  const seconds = (name: string): number => Number(new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1]);
  return (seconds('used_cpu_user') + seconds('used_cpu_sys')) * 1000;
}

/** Points with fewer units than this share of the last one show what is needed once, not what a unit costs. */
const FIRST_SHARE = 1 / 200;

/**
 * The exponent by which a column grows: 0 is flat, 1 is in proportion. Taken between the last point and the first one
 * that is not much smaller. `undefined` where there is nothing to compare.
 */
export function exponent(report: CurveReport, column: string): number | undefined {
  const last = report.rows.at(-1);
  if (last === undefined) return undefined;
  const first = report.rows.find(({ point }) => point >= last.point * FIRST_SHARE);
  const [from, to] = [first?.values[column] ?? 0, last.values[column] ?? 0];
  if (first === undefined || first === last || from <= 0 || to <= 0) return undefined;
  return Math.log(to / from) / Math.log(last.point / first.point);
}
