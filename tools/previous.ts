import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { projectRoot } from './buildOutput';
import type { ReleasedWire } from './wire';

/** Where the previous package and what is known of it are. */
const folder = path.join(projectRoot, 'test', 'package', 'previous');

/** The package that this one is compared with: that of the previous minor version. */
export interface Previous {
  /** What people call it: a version, or a version and a commit. */
  readonly name: string;
  /** The commit that it was built from. */
  readonly commit: string;
  /** SHA-512 of its tarball, in hex. */
  readonly sha512: string;
  readonly wire: ReleasedWire;
  /** The hash of the declaration of each exported symbol: `ioredisson/otel: traceLocks`. */
  readonly api: Readonly<Record<string, string>>;
}

/** The tarball. It has only what `require('ioredisson')` needs. */
export const previousTarball = path.join(folder, 'package.tgz');

const recordFile = path.join(folder, 'previous.json');

/** What is recorded of it. */
export function readPrevious(): Previous {
  return JSON.parse(fs.readFileSync(recordFile, 'utf8')) as Previous;
}

/** Records another one. */
export function writePrevious(previous: Previous): void {
  fs.writeFileSync(recordFile, `${JSON.stringify(previous, null, 2)}\n`);
}

/** Throws when the tarball is not the recorded one. */
export function checkPrevious(tarball = previousTarball): void {
  const { sha512, name } = readPrevious();
  if (sha512Of(fs.readFileSync(tarball)) === sha512) return;
  throw new Error(`${tarball} is not the recorded package (${name}): restore it, or run \`npm run previous\``);
}

/** SHA-512 in hex. */
export function sha512Of(bytes: Buffer): string {
  return createHash('sha512').update(bytes).digest('hex');
}
