import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import * as path from 'node:path';
import type * as library from '../../../lib';
import { projectRoot } from '../../../tools/buildOutput';
import { checkPrevious, previousTarball } from '../../../tools/previous';
import { ConsumerProject } from '../../support/ConsumerProject';
import { readPackage } from './installed';

/** The previous package, installed into a project of its own. */
export class PreviousPackage {
  readonly #project: ConsumerProject;
  readonly library: typeof library;

  /** Throws if the stored tarball is not the recorded one. */
  constructor() {
    checkPrevious();
    this.#project = new ConsumerProject(['ioredis']);
    const folder = path.join(this.#project.folder, 'node_modules', 'ioredisson');
    fs.mkdirSync(folder, { recursive: true });
    execFileSync('tar', ['-xzf', previousTarball, '--strip-components=1', '-C', folder]);
    for (const name of Object.keys(readPackage(folder).dependencies))
      this.#project.link(name, path.join(projectRoot, 'node_modules', name));
    this.library = createRequire(path.join(this.#project.folder, 'index.js'))('ioredisson') as typeof library;
  }

  remove(): void {
    this.#project.remove();
  }
}
