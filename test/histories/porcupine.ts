import { execFile } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { promisify } from 'node:util';
import { findGo } from '../support/findGo';

const run = promisify(execFile);

/** The judge that is written in Go. */
const SOURCE = path.join(__dirname, 'porcupine');
/** The first build compiles the standard library, too. */
const BUILD_MS = 480_000;
/** A verdict of a million calls is short where nothing is wrong, and has the pieces where something is. */
const MOST_BYTES = 512 * 1024 * 1024;

/** What the judge says against a history. */
export interface PorcupineFinding {
  readonly rule: string;
  readonly name?: string;
  readonly kind?: string;
  readonly text: string;
  /** The operations of the smallest piece that is wrong in itself. */
  readonly lines?: readonly string[];
  /** A page of HTML that shows it. */
  readonly picture?: string;
}

/** What porcupine says of a history. */
export interface PorcupineVerdict {
  readonly calls: number;
  readonly names: number;
  readonly operations: number;
  readonly windows: number;
  /** The longest that one window took. */
  readonly worstMs: number;
  readonly findings: readonly PorcupineFinding[];
  /** What was not judged in time. That is no success. */
  readonly unknown: readonly PorcupineFinding[];
  /** Of the judge, all together. */
  readonly durationMs: number;
}

/** The judge, built, or the reason why there is none. */
export type PorcupineJudge = { readonly file: string; readonly go: string } | { readonly reason: string };

let building: Promise<PorcupineJudge> | undefined;

/**
 * Builds the judge, once per process.
 * @throws Error if its code is wrong: only a missing Go, or a missing module, is a reason to go without
 */
export function porcupineJudge(): Promise<PorcupineJudge> {
  return (building ??= build());
}

async function build(): Promise<PorcupineJudge> {
  const go = await findGo();
  if (go === undefined) return { reason: 'there is no go on the PATH' };
  const options = { cwd: SOURCE, timeout: BUILD_MS };
  try {
    await run(go, ['mod', 'download'], options);
  } catch (error) {
    return { reason: `porcupine could not be had: ${output(error).slice(0, 200)}` };
  }
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ioredisson-porcupine-'));
  process.once('exit', () => fs.rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'porcupine');
  await run(go, ['build', '-o', file, '.'], options);
  return { file, go };
}

/**
 * Runs the judge's own tests: histories made by hand.
 * @throws Error with what they print, if one fails
 */
export async function testPorcupine(go: string): Promise<void> {
  try {
    await run(go, ['test', './...'], { cwd: SOURCE, timeout: BUILD_MS });
  } catch (error) {
    throw new Error(output(error), { cause: error });
  }
}

/** Judges a history. Pictures of violations are put beside it. @param limitS - how long one window may take, in s */
export async function judgeByPorcupine(file: string, folder: string, limitS = 60): Promise<PorcupineVerdict> {
  const startedAt = performance.now();
  const stdout = await run(file, [`-limit=${limitS}s`, folder], { maxBuffer: MOST_BYTES }).then(
    (result) => result.stdout,
    (error: { readonly code?: number; readonly stdout?: string }) => {
      // It says no: that is a verdict, too.
      if (error.code === 1 && error.stdout) return error.stdout;
      throw new Error(`the judge failed: ${output(error)}`, { cause: error });
    },
  );
  const verdict = JSON.parse(stdout) as Omit<PorcupineVerdict, 'durationMs'>;
  return { ...verdict, durationMs: performance.now() - startedAt };
}

/** A verdict as a person reads it. */
export function describePorcupine(verdict: PorcupineVerdict): string[] {
  const { calls, names, operations, windows, worstMs, findings, unknown, durationMs } = verdict;
  const seconds = (durationMs / 1_000).toFixed(1);
  const lines = [
    `porcupine: ${calls} calls of ${names} names in ${seconds} s: ${operations} operations in ${windows} windows, ` +
      `the slowest took ${worstMs} ms`,
  ];
  for (const [word, list] of [
    ['WRONG', findings],
    ['UNKNOWN', unknown],
  ] as const) {
    for (const { rule, name = '', text, lines: piece = [], picture } of list.slice(0, MOST_SHOWN)) {
      lines.push('', `${word} ${rule}: ${name}: ${text}`, ...piece.slice(-MOST_LINES).map((line) => `  ${line}`));
      if (picture !== undefined) lines.push(`a picture of it: ${picture}`);
    }
    if (list.length > MOST_SHOWN) lines.push('', `and ${list.length - MOST_SHOWN} more`);
  }
  return lines;
}

const MOST_SHOWN = 10;
const MOST_LINES = 60;

function output(error: unknown): string {
  const { stdout = '', stderr = '', message } = error as { stdout?: string; stderr?: string; message: string };
  return `${stdout}${stderr}`.trim() || message;
}
