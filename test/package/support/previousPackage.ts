import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import * as path from 'node:path';
import type * as library from '../../../lib';
import { checkPrevious, previousTarball } from '../../../tools/previous';
import { ConsumerProject } from '../../support/ConsumerProject';
import { ordinaryPackages } from './installed';

/** The previous package, installed into a project of its own. */
export class PreviousPackage {
  readonly #project: ConsumerProject;
  readonly library: typeof library;

  /** Throws if the stored tarball is not the recorded one. */
  constructor() {
    checkPrevious();
    this.#project = new ConsumerProject(ordinaryPackages());
    const folder = path.join(this.#project.folder, 'node_modules', 'ioredisson');
    fs.mkdirSync(folder, { recursive: true });
    execFileSync('tar', ['-xzf', previousTarball, '--strip-components=1', '-C', folder]);
    this.library = createRequire(path.join(this.#project.folder, 'index.js'))('ioredisson') as typeof library;
  }

  remove(): void {
    this.#project.remove();
  }
}
