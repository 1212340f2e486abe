import * as fs from 'node:fs';
import * as path from 'node:path';
import { projectRoot } from '../../../tools/buildOutput';
import { formatted } from '../../../tools/formatted';
import { BENCH_MODULES, installOthers, OTHERS } from './benchPackages';
import { ordinaryPackages, PackedPackage } from './installed';
import { bundleSize, installed, ONE_LOCK, requireCpu } from './weight';

// `npm run docs:weight`: measures, and writes the table in docs/bundlers.md.

const START = '<!-- npm run docs:weight writes what follows -->';
const END = '<!-- until here -->';
const ROUNDS = 31;

async function main(): Promise<void> {
  if (!installOthers()) throw new Error('the other packages could not be installed');
  const packed = new PackedPackage();
  const project = packed.installedWith(ordinaryPackages());
  try {
    for (const name of OTHERS) project.link(name, path.join(BENCH_MODULES, name));
    const names = Object.keys(ONE_LOCK);
    const times = requireCpu(project.folder, names, ROUNDS);
    const rows = names.map(async (name, i) => {
      const { minified, gzip } = await bundleSize(project.write(`${name}.mjs`, ONE_LOCK[name]!));
      const modules = name === 'ioredisson' ? path.join(project.folder, 'node_modules') : BENCH_MODULES;
      const { version, dependencies, bytes } = installed(modules, name);
      const sizes = `${kilobytes(gzip)} (${kilobytes(minified)}) | ${kilobytes(bytes)}`;
      const title = name === 'ioredisson' ? name : `${name} ${version}`;
      return `| ${title} | ${sizes} | ${times[i]!.toFixed(0)} ms | ${dependencies.join(', ') || 'none'} |`;
    });
    const head = '| package | a bundle, gzip (minified) | on disk | `require` | brings |\n| - | - | - | - | - |';
    const day = new Date().toISOString().slice(0, 10);
    const note = `Measured on ${day}, Node ${process.versions.node}.`;
    const page = path.join(projectRoot, 'docs', 'bundlers.md');
    const text = fs.readFileSync(page, 'utf8');
    const [start, end] = [text.indexOf(START), text.indexOf(END)];
    if (start < 0 || end < start) throw new Error(`docs/bundlers.md has no lines ${START} and ${END}`);
    const table = [START, [head, ...(await Promise.all(rows))].join('\n'), note, END].join('\n\n');
    fs.writeFileSync(page, await formatted(page, text.slice(0, start) + table + text.slice(end + END.length)));
  } finally {
    project.remove();
    packed.remove();
  }
}

function kilobytes(bytes: number): string {
  return `${(bytes / 1000).toFixed(0)} kB`;
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
