import { IOREDIS_FOLDER, ioredisFolder } from './ioredisFolder';

/** One version of something that the package runs on. */
export interface Column {
  /** What `--only` knows it by: what, then which version. */
  readonly id: string;
  /** Gets it ready. @returns the environment that the suites run with; `undefined` when it could not be had */
  prepare(): NodeJS.ProcessEnv | undefined;
}

/** The oldest that is supported, the newest 5.x, and the newest. Exact, so that a run can be repeated. */
const IOREDIS_VERSIONS = ['5.6.0', '5.11.1', '6.0.0'];

/** All columns of the matrix. */
export const columns: readonly Column[] = IOREDIS_VERSIONS.map((version) => ({
  id: `ioredis-${version}`,
  prepare() {
    const folder = ioredisFolder(version);
    return folder === undefined ? undefined : { [IOREDIS_FOLDER]: folder };
  },
}));
