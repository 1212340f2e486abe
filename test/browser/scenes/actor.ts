import { Registry } from 'prom-client';
import { Redisson } from '../../../lib';
import { collectLockMetrics } from '../../../lib/integrations/prometheus';
import type { Act } from './SceneProcess';

// One process of a scene: takes locks and waits for them as its parent asks, and tells its metrics.
const [url = '', watchdog = '30000', thread = ''] = process.argv.slice(2);
// What a build of the library puts there.
Object.assign(globalThis, { WATCHDOG_THREAD_FILE: thread });
const client = Redisson.create({ url, lockWatchdogTimeout: Number(watchdog), introspection: { callSites: true } });
const register = new Registry();
// Few names: text of 50 000 series would block this process, and it would rightly be called busy.
collectLockMetrics({ register, nameOf: (name) => (/^order:(?!7$|3141$)/.test(name) ? 'order' : name) });

const forever = new Promise<never>(() => undefined);
const ignore = (): void => undefined;
let openGate = ignore;
/** Inner locks are asked for when all processes have their outer ones. */
const gate = new Promise<void>((resolve) => (openGate = resolve));

/** Resolves when what is to be held is held, and whoever is to wait has asked. */
async function perform(act: Act): Promise<unknown> {
  switch (act.kind) {
    case 'hold':
      // So few at once that none waits long for its answer behind the others, however busy the machine is.
      for (let from = 0; from < act.names.length; from += 200) {
        const names = act.names.slice(from, from + 200);
        await Promise.all(names.map((name) => take(name, act)));
      }
      return;
    case 'giveBack':
      await Promise.all(act.names.map((name) => taken.get(name)!.unlock()));
      return;
    case 'takePermits': {
      const semaphore = client.getSemaphore(act.name);
      await semaphore.trySetPermits(act.permits);
      return semaphore.acquire(act.take);
    }
    case 'throttle':
      await client.getSemaphore(act.name).trySetPermits(act.permits);
      for (let i = 0; i < act.callers; i++) void throttled(act.name);
      return;
    case 'waitForPermits':
      void client.getSemaphore(act.name).acquire(act.permits);
      return;
    case 'waitForLatch':
      await client.getCountDownLatch(act.name).trySetCount(1);
      void client.getCountDownLatch(act.name).await();
      return;
    case 'wait':
      for (let i = 0; i < act.callers; i++) void client.getLock(act.name).withLock(() => forever);
      return;
    case 'nest':
      return new Promise<void>((resolve, reject) => {
        const inner = async (): Promise<never> => {
          resolve();
          await gate;
          return client.getLock(act.inner).withLock(() => forever);
        };
        client.getLock(act.outer).withLock(inner).catch(reject);
      });
    case 'go':
      return openGate();
    case 'work':
      for (const name of act.names) void work(name);
      return;
    case 'metrics':
      return register.metrics();
  }
}

/**
 * With a pause: a caller that asks again at once overtakes those who wait. On a busy machine one of them waited for
 * longer than 30 s, which is no moment.
 */
async function throttled(name: string): Promise<never> {
  for (;;) {
    await client.getSemaphore(name).withPermits(1, () => new Promise((resolve) => setTimeout(resolve, 200)));
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** As one that the thread renews, where that is wanted: what a busy event loop is to be no trouble for. */
async function take(name: string, { leaseMs, thread = false }: Act & { kind: 'hold' }): Promise<void> {
  const lock = client.getLock(name);
  // A hold that nobody refers to is given up; a handle outside of any scope is a thread.
  if (thread) taken.set(name, await lock.acquire({ watchdogThread: { maxStall: 600_000 } }));
  else {
    await lock.lock(leaseMs);
    taken.set(name, lock);
  }
}

/** What gives back what is held. */
const taken = new Map<string, { unlock(): Promise<unknown> }>();

/** Short sections, one after the other. */
async function work(name: string): Promise<never> {
  for (;;) {
    await client.getLock(name).withLock(() => new Promise((resolve) => setTimeout(resolve, 20)));
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

process.on('message', (act: (Act | { readonly kind: 'block'; readonly ms: number }) & { readonly id: number }) => {
  if (act.kind === 'block') return void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, act.ms);
  perform(act).then(
    (value) => process.send!({ id: act.id, value }),
    (error: unknown) => process.send!({ id: act.id, error: String(error) }),
  );
});
process.once('disconnect', () => process.exit());
// Its locks are lost in the end: nobody is left to be told.
process.on('unhandledRejection', ignore);
void client.ping().then(() => process.send!({ id: 0, value: client.getId() }));
