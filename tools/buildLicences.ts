import * as fs from 'node:fs';
import * as path from 'node:path';
import { projectRoot } from './buildOutput';

/** The file beside a bundle with the licences of the packages in it. */
export const LICENCES_FILE = 'LICENSES.txt';

/**
 * Writes the licences of the packages that a bundle contains.
 *
 * @param folder - of the bundle
 * @param inputs - the files that went into it, as esbuild's `metafile` names them
 */
export function writeLicences(folder: string, inputs: readonly string[]): void {
  const packages = new Set(inputs.flatMap(packageFolderOf));
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, LICENCES_FILE), [...packages].sort().map(licenceOf).join('\n'));
}

function packageFolderOf(input: string): string[] {
  const [folder] = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input) ?? [];
  return folder === undefined ? [] : [folder];
}

function licenceOf(folder: string): string {
  const { name, version, license } = JSON.parse(
    fs.readFileSync(path.join(projectRoot, folder, 'package.json'), 'utf8'),
  ) as { readonly name: string; readonly version: string; readonly license: string };
  const file = fs.readdirSync(path.join(projectRoot, folder)).find((one) => /^licen[sc]e/i.test(one));
  if (file === undefined) throw new Error(`${folder} has no licence`);
  const text = fs.readFileSync(path.join(projectRoot, folder, file), 'utf8').trim();
  return `${name} ${version} (${license})\n\n${text}\n`;
}
