import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';

/**
 * In what two packed packages differ, a line each; empty: each byte is the same.
 *
 * @param tarball - a file that `npm pack` wrote
 */
export function tarballDifferences(tarball: string, other: string): string[] {
  if (fs.readFileSync(tarball).equals(fs.readFileSync(other))) return [];
  const [a, b] = [contentsOf(tarball), contentsOf(other)];
  const differences = [...new Set([...a.keys(), ...b.keys()])].sort().flatMap((file) => {
    const [one, two] = [a.get(file), b.get(file)];
    if (one === undefined || two === undefined) return [`${file}: only in ${one === undefined ? other : tarball}`];
    if (!one.bytes.equals(two.bytes)) return [`${file}: other bytes`];
    return one.mode === two.mode ? [] : [`${file}: other rights`];
  });
  return differences.length > 0 ? differences : ['the same files, but packed in another way'];
}

/** The files of a tarball by their path in it. */
function contentsOf(tarball: string): Map<string, { readonly bytes: Buffer; readonly mode: number }> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ioredisson-tarball-'));
  try {
    execFileSync('tar', ['-xzpf', tarball, '-C', folder]);
    const files = fs.readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    return new Map(
      files.map((entry) => {
        const file = path.join(entry.parentPath, entry.name);
        return [path.relative(folder, file), { bytes: fs.readFileSync(file), mode: fs.statSync(file).mode }];
      }),
    );
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}
