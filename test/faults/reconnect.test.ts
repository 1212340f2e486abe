import { expect } from 'chai';
import { allowLeftovers, sleepUntil, uniqueName } from '../support';
import { client, LONG_LEASE_MS, openScene, SOON_MS, warmUp, type Scene } from './scene';

/** What a connection does before it is of use, as ioredis sends it, and the release itself. */
const STEPS = [
  ['the choice of the database', /\bselect\b/i],
  ['its name', /\bsetname\b/i],
  ['the ready check', /\binfo\b/i],
  ['the release', /\beval(sha)?\b/i],
] as const;

describe('an unlock() whose connection is killed', () => {
  let scene: Scene;

  beforeEach(async () => {
    allowLeftovers({ keys: /^reconnect/ });
    scene = await openScene();
    await scene.direct.select(2);
  });

  for (const [step, command] of STEPS) {
    for (const then of ['cut', 'hang'] as const) {
      for (const when of ['before it is sent', 'while it is under way'] as const) {
        it(`${when} ends in time, also where the next connection is lost (${then}) at ${step}`, async () => {
          const { proxy, direct } = scene;
          const lock = client(`${proxy.url}/2`, { timeout: 400 }).getLock(uniqueName('reconnect'));
          await warmUp(lock);
          await lock.lock(LONG_LEASE_MS);
          let lost = false;
          const unlock = (): Promise<void> => lock.unlock();
          let unlocking: Promise<void> | undefined;
          if (when === 'while it is under way') unlocking = unlock();
          proxy.cut();
          void proxy.swallowNextReply({ command, then }).then(() => (lost = true));
          unlocking ??= unlock();
          const startedAt = performance.now();
          await unlocking;
          expect(performance.now() - startedAt).to.be.below(SOON_MS);
          expect(await direct.exists(lock.name)).to.equal(0);
          // Either connection of the client may have met it.
          await sleepUntil(() => lost, { message: 'a connection lost on its way' });
        });
      }
    }
  }
});
