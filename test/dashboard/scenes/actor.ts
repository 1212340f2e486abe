import { Registry } from 'prom-client';
import { Redisson } from '../../../lib';
import { collectLockMetrics } from '../../../lib/integrations/prometheus';
import type { Act } from './SceneProcess';

// One process of a scene: takes locks and waits for them as its parent asks, and tells its metrics.
const [url = '', watchdog = '30000'] = process.argv.slice(2);
const client = Redisson.create({ url, lockWatchdogTimeout: Number(watchdog), introspection: { callSites: true } });
const register = new Registry();
// Few names: text of 50 000 series would block this process, and it would rightly be called busy.
collectLockMetrics({ register, nameOf: (name) => (/^order:(?!7$|31415$)/.test(name) ? 'order' : name) });

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
        await Promise.all(names.map((name) => client.getLock(name).lock(act.leaseMs)));
      }
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

/** Short sections, one after the other. */
async function work(name: string): Promise<never> {
  for (;;) {
    await client.getLock(name).withLock(() => new Promise((resolve) => setTimeout(resolve, 20)));
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

process.on('message', (act: Act & { readonly id: number }) => {
  perform(act).then(
    (value) => process.send!({ id: act.id, value }),
    (error: unknown) => process.send!({ id: act.id, error: String(error) }),
  );
});
process.once('disconnect', () => process.exit());
// Its locks are lost in the end: nobody is left to be told.
process.on('unhandledRejection', ignore);
void client.ping().then(() => process.send!({ id: 0, value: client.getId() }));
