import * as path from 'node:path';
import { projectRoot } from '../../../tools/buildOutput';
import { installFolder } from '../../../tools/installFolder';
import { LIGHTEST, ONE_LOCK } from './weight';

const BENCH = path.join(projectRoot, 'bench');

/** Where the other packages are. */
export const BENCH_MODULES = path.join(BENCH, 'node_modules');

/** The other packages of {@link ONE_LOCK}. */
export const OTHERS = Object.keys(ONE_LOCK).filter((name) => name !== 'ioredisson');

/** Installs them where that is necessary. @returns whether they are there */
export function installOthers(): boolean {
  return installFolder(BENCH, `the benchmarks' packages (${LIGHTEST}, ...)`, console.log);
}
