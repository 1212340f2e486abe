import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { ensureBuilt, projectRoot } from '../../../tools/buildOutput';
import { packTarball } from '../../../tools/packTarball';
import { ConsumerProject } from '../../support/ConsumerProject';

/** What a test reads of package.json. */
export interface PackageJson {
  readonly version: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional?: boolean }>>;
}

/** The peer packages that each entry point is for, by its folder. Those that are not here need none but ioredis. */
const PEERS: Readonly<Record<string, readonly string[]>> = {
  'integrations/otel': ['@opentelemetry/api', '@opentelemetry/instrumentation'],
  'integrations/prometheus': ['prom-client'],
  'integrations/nestjs': ['@nestjs/common', '@nestjs/core'],
  'integrations/fastify': ['fastify', 'fastify-plugin'],
};

/** The optional peers of an entry point. */
export function peersOf(folder: string): readonly string[] {
  return PEERS[folder] ?? [];
}

/** All optional peers of the package. */
export function optionalPeers(): string[] {
  return Object.entries(readPackage(projectRoot).peerDependenciesMeta)
    .filter(([, { optional }]) => optional === true)
    .map(([name]) => name);
}

/** What npm installs with the package where nothing more is asked for. */
export function ordinaryPackages(): string[] {
  return [...Object.keys(readPackage(projectRoot).dependencies), 'ioredis'];
}

/** The contents of the tarball in a temporary folder. */
export class PackedPackage {
  readonly folder: string;

  /** Builds where that is necessary, and packs. */
  constructor() {
    ensureBuilt();
    const tarball = packTarball();
    this.folder = path.join(path.dirname(tarball), 'package');
    execFileSync('tar', ['-xzf', tarball, '-C', path.dirname(tarball)]);
  }

  /** A project that has installed it, and these packages of the checkout. */
  installedWith(packages: readonly string[]): ConsumerProject {
    const project = new ConsumerProject(packages);
    // No link: it would find the packages of wherever it leads to.
    fs.cpSync(this.folder, path.join(project.folder, 'node_modules', 'ioredisson'), { recursive: true });
    return project;
  }

  remove(): void {
    fs.rmSync(path.dirname(this.folder), { recursive: true, force: true });
  }
}

/** package.json in that folder. */
export function readPackage(folder: string): PackageJson {
  return JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8')) as PackageJson;
}

/** Relative paths with slashes. */
export function filesUnder(folder: string): string[] {
  return fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)).split(path.sep).join('/'));
}
