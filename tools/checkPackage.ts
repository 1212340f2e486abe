import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { build, projectRoot } from './buildOutput';
import { packTarball } from './packTarball';

/** Builds, packs, and has publint and @arethetypeswrong/cli look at the tarball. */
function main(): void {
  build();
  const tarball = packTarball();
  try {
    run('publint', ['src/cli.js'], ['run', tarball, '--strict']);
    run('@arethetypeswrong/cli', ['dist/index.js'], [tarball, '--format', 'table-flipped']);
  } finally {
    fs.rmSync(path.dirname(tarball), { recursive: true, force: true });
  }
}

function run(packageName: string, script: [string], args: string[]): void {
  const file = path.join(projectRoot, 'node_modules', packageName, ...script);
  execFileSync(process.execPath, [file, ...args], { cwd: projectRoot, stdio: 'inherit' });
}

try {
  main();
} catch {
  // The tool that failed has said why.
  process.exitCode = 1;
}
