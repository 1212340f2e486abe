import * as fs from 'node:fs';
import * as path from 'node:path';
import { projectRoot } from './buildOutput';

/** What of `exports` in package.json belongs to one entry point. */
export type ExportConditions = {
  readonly types: string;
  /** For bundlers, whether the package is imported or required. Node does not know this condition. */
  readonly module: string;
  readonly default: string;
};

/** A way into the package: `ioredisson`, `ioredisson/x`. */
export interface EntryPoint {
  /** As in package.json: `.` or `./x`. */
  readonly subpath: string;
  /** What users write. */
  readonly specifier: string;
  /** Its folder in lib/, dist/ and dist/esm/: '' or a path such as `operators/dashboard`. */
  readonly folder: string;
  readonly conditions: ExportConditions;
}

/** The entry points that package.json exports; not package.json itself. */
export function entryPoints(): EntryPoint[] {
  const { name, exports } = JSON.parse(fs.readFileSync(path.join(projectRoot, 'package.json'), 'utf8')) as {
    name: string;
    exports: Record<string, ExportConditions | string>;
  };
  return Object.entries(exports).flatMap(([subpath, conditions]) => {
    if (typeof conditions === 'string') return [];
    const folder = path.posix.relative('dist', path.posix.dirname(conditions.default));
    return [{ subpath, specifier: name + subpath.slice(1), folder, conditions }];
  });
}

/** What the conditions of an entry point have to be. */
export function conditionsOf(folder: string): ExportConditions {
  const file = path.posix.join(folder, 'index');
  return { types: `./dist/${file}.d.ts`, module: `./dist/esm/${file}.mjs`, default: `./dist/${file}.js` };
}
