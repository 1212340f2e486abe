import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { apiHashes, apiReport } from './apiReport';
import { ensureBuilt, projectRoot } from './buildOutput';
import { packTarball } from './packTarball';
import { previousTarball, readPrevious, sha512Of, writePrevious } from './previous';
import { currentWire } from './wire';

/**
 * `npm run previous [-- <name>]`, after a release, on its commit: from now on this package is the previous one. Stored
 * is what `require('ioredisson')` needs, so that the test needs neither a registry nor the history of git.
 */
function main(name: string | undefined): void {
  ensureBuilt();
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: projectRoot, encoding: 'utf8' }).trim();
  const { version } = JSON.parse(fs.readFileSync(path.join(projectRoot, 'package.json'), 'utf8')) as {
    readonly version: string;
  };
  const wire = currentWire(fs.existsSync(previousTarball) ? readPrevious().wire : { version: 0, hash: '', parts: {} });
  const stage = fs.mkdtempSync(path.join(os.tmpdir(), 'ioredisson-previous-'));
  try {
    for (const file of ['package.json', ...required('dist/index.js')]) {
      fs.mkdirSync(path.dirname(path.join(stage, file)), { recursive: true });
      fs.copyFileSync(path.join(projectRoot, file), path.join(stage, file));
    }
    const tarball = packTarball(stage);
    fs.mkdirSync(path.dirname(previousTarball), { recursive: true });
    fs.copyFileSync(tarball, previousTarball);
    fs.rmSync(path.dirname(tarball), { recursive: true });
  } finally {
    fs.rmSync(stage, { recursive: true, force: true });
  }
  const sha512 = sha512Of(fs.readFileSync(previousTarball));
  writePrevious({ name: name ?? version, commit, sha512, wire, api: apiHashes(apiReport()) });
}

/** A file of the build, and those of it that it requires. */
function required(file: string, found = new Set<string>()): Set<string> {
  if (found.has(file)) return found;
  found.add(file);
  // Lines of a limited length: a string may go on in the next one.
  const text = fs.readFileSync(path.join(projectRoot, file), 'utf8').replaceAll('\\\n', '');
  for (const [, specifier] of text.matchAll(/\brequire\(["'](\.[^"']+)["']\)/g))
    required(path.posix.join(path.posix.dirname(file), specifier!), found);
  return found;
}

main(process.argv[2]);
