import { expect } from 'chai';
import { CommanderError } from 'commander';
import fc from 'fast-check';
import { type Actions, createProgram } from '../../lib/operators/cli/program';
import { anyText, fuzz } from './fuzz';

const WORDS = [
  ...['run', 'list', 'inspect', 'unlock', 'top', 'doctor', 'dashboard', 'help', '--', '--force', '--json', '--help'],
  ...['--wait', '--lease', '--kind', '--port', '--interval', '--count', '--grace', '--config', '--url', '-u', '-V'],
  ...[
    '10s',
    '-1',
    '0',
    '1e9',
    'NaN',
    '5 minutes',
    '999999999999999999h',
    'fair',
    '',
    '=',
    '--url=redis://h',
    '--port=7',
  ],
];

const anyWord = fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...WORDS) }, { weight: 1, arbitrary: anyText });

describe('fuzzing the command line', function () {
  this.timeout(60_000);

  it('whatever the arguments: one action with numbers that are numbers, or a usage error', async () => {
    let ran = 0;
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(
        fc
          .tuple(fc.constantFrom(...WORDS.slice(0, 8)), fc.array(anyWord, { maxLength: 6 }))
          .map(([first, more]) => [first, ...more]),
        async (args) => {
          const calls: unknown[][] = [];
          const act = (...given: unknown[]): Promise<number> => {
            calls.push(given);
            return Promise.resolve(0);
          };
          const actions: Actions = {
            ...{ run: act, list: act, inspect: act, unlock: act, top: act, dashboard: act, doctor: act },
            ...{ permits: act, latch: act },
          };
          const output = { writeOut: () => undefined, writeErr: () => undefined };
          try {
            await createProgram('1.0.0', actions, () => undefined, output).parseAsync(args, { from: 'user' });
          } catch (error) {
            expect(error, String((error as Error).stack)).to.be.instanceOf(CommanderError);
            refused += 1;
            expect(calls).to.have.length(0);
            return;
          }
          ran += calls.length;
          expect(calls.length).to.be.at.most(1);
          for (const value of Object.values((calls[0]?.at(-1) ?? {}) as Record<string, unknown>)) {
            if (typeof value === 'number') expect(value).to.satisfy(Number.isFinite).and.at.least(0);
          }
        },
      ),
      fuzz(1000),
    );
    // Both happen often, or nothing was shown.
    expect(ran).to.be.greaterThan(100);
    expect(refused).to.be.greaterThan(100);
  });

  it('a command is only run behind `--`', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(fc.constantFrom('a', '-x', '--wait', '1s'), anyText), { maxLength: 6 }),
        async (args) => {
          fc.pre(!args.includes('--'));
          let ran = false;
          const act = (): Promise<number> => Promise.resolve(0);
          const run = (): Promise<number> => ((ran = true), Promise.resolve(0));
          const others = { permits: act, latch: act, top: act, dashboard: act, doctor: act };
          const actions: Actions = { run, list: act, inspect: act, unlock: act, ...others };
          const output = { writeOut: () => undefined, writeErr: () => undefined };
          await createProgram('1.0.0', actions, () => undefined, output)
            .parseAsync(['run', ...args], { from: 'user' })
            .catch((error: unknown) => expect(error).to.be.instanceOf(CommanderError));
          expect(ran).to.equal(false);
        },
      ),
      fuzz(500),
    );
  });
});
