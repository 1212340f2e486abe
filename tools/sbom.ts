import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { LICENCES_FILE } from './buildLicences';
import { projectRoot } from './buildOutput';
import { sha512Of } from './previous';

/** A part of a {@link Sbom}. */
export interface SbomComponent {
  readonly 'bom-ref': string;
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly licenses?: readonly unknown[];
  readonly components?: readonly SbomComponent[];
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
}

/** What is read or written of a list of parts in CycloneDX' format. */
export interface Sbom {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly serialNumber: string;
  readonly metadata: { readonly timestamp?: string; readonly component: SbomComponent };
  readonly components: readonly SbomComponent[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

interface Manifest {
  readonly name: string;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional?: boolean }>>;
}

/**
 * The parts of a tarball: what npm installs with it, and, within the package, what its bundles contain. The same commit
 * and tarball give the same text. Build first.
 */
export function sbomOf(tarball: string): Sbom {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev', '--package-lock-only'];
  const made = JSON.parse(npm(args)) as Sbom;
  const { name, peerDependencies, peerDependenciesMeta } = JSON.parse(
    fs.readFileSync(path.join(projectRoot, 'package.json'), 'utf8'),
  ) as Manifest;
  const sha512 = sha512Of(fs.readFileSync(tarball));
  const peers = Object.entries(peerDependencies).map(([peer, range]) => ({
    name: `ioredisson:${peerDependenciesMeta[peer]?.optional === true ? 'optionalPeer' : 'peer'}:${peer}`,
    value: range,
  }));
  const { timestamp: _, ...metadata } = made.metadata;
  return {
    ...made,
    serialNumber: `urn:uuid:${uuidOf(sha512)}`,
    metadata: {
      ...metadata,
      component: {
        ...metadata.component,
        // npm takes the name of the folder.
        name,
        hashes: [{ alg: 'SHA-512', content: sha512 }],
        properties: peers,
        components: bundled(),
      },
    },
  };
}

/** The packages whose code is in the bundles: the command line, the dashboard, the test client. */
function bundled(): SbomComponent[] {
  const dist = path.join(projectRoot, 'dist');
  const found = new Map<string, SbomComponent>();
  for (const file of fs.readdirSync(dist, { recursive: true, encoding: 'utf8' })) {
    if (path.basename(file) !== LICENCES_FILE) continue;
    const text = fs.readFileSync(path.join(dist, file), 'utf8');
    for (const [, name, version, licence] of text.matchAll(/^(@?[\w./-]+) (\d+\.\d+\.\S+) \((.+)\)$/gm)) {
      const purl = `pkg:npm/${name!.replace('@', '%40')}@${version}`;
      const ref = `bundled:${name}@${version}`;
      const licenses = [{ license: { id: licence } }];
      found.set(ref, { 'bom-ref': ref, type: 'library', name: name!, version: version!, purl, licenses });
    }
  }
  return [...found.values()].sort((a, b) => (a.purl < b.purl ? -1 : 1));
}

function uuidOf(hex: string): string {
  const variant = ((parseInt(hex[16]!, 16) & 3) | 8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

function npm(args: readonly string[]): string {
  return execFileSync('npm', [...args], {
    cwd: projectRoot,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    shell: process.platform === 'win32',
  });
}
