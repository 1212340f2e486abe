import * as fs from 'node:fs';
import * as path from 'node:path';
import { writeCommandLine } from './buildCommandLine';
import { writeCompletions } from './buildCompletions';
import { writeDeclarations } from './buildDeclarations';
import { writeLibrary } from './buildLibrary';
import { writeHelpNotes, writeManPage } from './buildManPage';
import { buildInputs, projectRoot, recordBuild } from './buildOutput';

/** Writes a part of dist/ into that folder; rejects, or throws, when it cannot. */
type BuildStep = (folder: string) => void | Promise<void>;

/** All that goes into dist/, in this order. A page, a worker, whatever else users get: a step more. */
const STEPS: readonly BuildStep[] = [
  writeDeclarations,
  writeLibrary,
  writeCommandLine,
  writeHelpNotes,
  writeCompletions,
  writeManPage,
];

/**
 * Whoever loads dist/ meanwhile sees the old output or the new one, never half of it. After a failure it is what it
 * was.
 */
async function main(): Promise<void> {
  const inputs = buildInputs();
  const dist = path.join(projectRoot, 'dist');
  const fresh = path.join(projectRoot, `dist-${process.pid}`);
  try {
    for (const step of STEPS) await step(fresh);
    fs.rmSync(dist, { recursive: true, force: true });
    fs.renameSync(fresh, dist);
    recordBuild(inputs);
  } finally {
    fs.rmSync(fresh, { recursive: true, force: true });
  }
}

main().catch((error: unknown) => {
  // Compilers have said what is wrong.
  if (!(error instanceof Error && ('status' in error || 'errors' in error))) console.error(error);
  process.exitCode = 1;
});
