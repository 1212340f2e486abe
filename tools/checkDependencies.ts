import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { LICENCES_FILE } from './buildLicences';
import { ensureBuilt, projectRoot } from './buildOutput';
import { licenceProblems, type LockedPackage, vulnerabilities } from './dependencyProblems';

/** `npm run check:dependencies`: the licences of what users get, and its known vulnerabilities. */
function main(): void {
  ensureBuilt();
  const dist = path.join(projectRoot, 'dist');
  const bundles = fs
    .readdirSync(dist, { recursive: true, encoding: 'utf8' })
    .filter((file) => path.basename(file) === LICENCES_FILE)
    .map((file) => fs.readFileSync(path.join(dist, file), 'utf8'));
  const { packages } = JSON.parse(fs.readFileSync(path.join(projectRoot, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, LockedPackage>>;
  };
  const problems = licenceProblems(packages, bundles);
  const audit = spawnSync('npm', ['audit', '--omit=dev', '--json'], {
    cwd: projectRoot,
    encoding: 'utf8',
    shell: process.platform === 'win32',
    timeout: 60_000,
  });
  const known = vulnerabilities(audit.stdout);
  if (known === undefined) process.stdout.write('Vulnerabilities were not checked: the registry gave no report.\n');
  for (const problem of [...problems, ...(known ?? [])]) {
    process.stderr.write(`${problem}\n`);
    process.exitCode = 1;
  }
}

main();
