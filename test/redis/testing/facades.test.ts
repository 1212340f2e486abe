import { expect } from 'chai';
import { fakeClock, uniqueName } from '../../support';
import { Random } from '../../simulation/engine/Random';
import { PACE_MS, program, type Step } from './programs';
import { type Line, Transcript } from './Transcript';
import { advance, inMemory, onServer, type World } from './worlds';

/** How far times may differ: a back-off of the spin lock, and what a round trip takes. Events are further apart. */
const TOLERANCE_MS = 2_500;
const CALLS = 200;
/** For more than what a run of all tests has time for: SEED and SEEDS of the environment. */
const FIRST_SEED = Number(process.env['SEED'] ?? 1);
const SEEDS = Number(process.env['SEEDS'] ?? 2);

describe('createTestRedisson beside a server', function () {
  this.timeout(120_000);

  for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
    it(`${CALLS} random calls on all objects, of two clients, have the same outcomes (seed ${seed})`, async () => {
      const steps = program(new Random(seed), CALLS);
      const prefix = uniqueName(`seed${seed}`);
      const memory = await run(steps, prefix, () => Promise.resolve(inMemory()));
      const server = await run(steps, prefix, () => onServer(prefix));
      compare(memory, server);
    });
  }
});

/** What becomes of a program in a world. */
async function run(steps: readonly Step[], prefix: string, make: () => Promise<World>): Promise<readonly Line[]> {
  const clock = fakeClock(Date.now());
  const world = await make();
  try {
    const transcript = new Transcript(world, clock, prefix);
    await world.settle();
    for (const step of steps) {
      transcript.begin(step);
      await world.settle();
      if (step.kind !== 'time') continue;
      await advance(world, clock, PACE_MS);
      transcript.look();
    }
    // In which order keys are listed, and which of two connections answers first, nobody knows: these lines are sorted.
    const before = transcript.lines.length;
    await transcript.keys();
    transcript.finishAll();
    await world.settle();
    transcript.abortAll();
    await world.settle();
    const ends = transcript.lines.splice(before).sort((a, b) => (a.text < b.text ? -1 : 1));
    transcript.look();
    return [...transcript.lines, ...ends];
  } finally {
    await Promise.all(world.clients.map((client) => client.shutdown()));
    const keys = await world.redis.keys(`*${prefix}*`);
    if (keys.length > 0) await world.redis.del(...keys);
    clock.restore();
  }
}

function compare(memory: readonly Line[], server: readonly Line[]): void {
  for (const [i, { text, times }] of server.entries()) {
    const ours = memory[i];
    const where = `after:\n${server
      .slice(Math.max(0, i - 25), i)
      .map((line) => `${line.times[0]} ${line.text}`)
      .join('\n')}\n`;
    expect(ours?.text, where).to.equal(text);
    times.forEach((ms, n) => expect(ours!.times[n], `${where}${text}`).to.be.closeTo(ms, TOLERANCE_MS));
  }
  expect(memory.length).to.equal(server.length);
}
