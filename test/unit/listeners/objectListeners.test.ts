import { expect } from 'chai';
import { resolveConfig } from '../../../lib/config/builder/resolveConfig';
import type { CommandExecutor } from '../../../lib/connection/pending/CommandExecutor';
import type { Subscriber } from '../../../lib/connection/pubsub/Subscriber';
import { ShutdownError, SubscriptionTimeoutError } from '../../../lib/errors';
import { ObjectListeners } from '../../../lib/listeners/ObjectListeners';

const OBJECT = { name: 'x', rawName: 'x' };
const listener = { onExpired: () => undefined, onDeleted: () => undefined };

describe('ObjectListeners on a connection that does not come', () => {
  let opened: number;
  let closed: number;
  let listeners: ObjectListeners;

  function make(subscriptionTimeout: number): void {
    opened = closed = 0;
    const executor = { call: () => Promise.resolve(['notify-keyspace-events', 'AE']) } as unknown as CommandExecutor;
    const open = (): Subscriber => {
      opened++;
      return {
        events: undefined,
        countsReceivers: true,
        subscribe: () => new Promise<never>(() => undefined),
        unsubscribe: () => undefined,
        probe: () => undefined,
        close: () => void closed++,
      };
    };
    listeners = new ObjectListeners({ database: 0, open }, executor, resolveConfig({ subscriptionTimeout }, {}));
  }

  const errorOf = (call: Promise<unknown>): Promise<unknown> => call.catch((error: unknown) => error);

  it('gives up after subscriptionTimeout, and leaves nothing behind; the next one opens another connection', async () => {
    make(20);
    for (let i = 1; i <= 2; i++) {
      const errors = await Promise.all([1, 2].map(() => errorOf(listeners.add(OBJECT, listener))));
      for (const error of errors) expect(error).to.be.instanceOf(SubscriptionTimeoutError);
      expect([opened, closed]).to.deep.equal([i, i]);
    }
    listeners.close();
  });

  it('rejects all who wait when the client closes, however many, without a warning', async () => {
    make(60_000);
    const warnings: Error[] = [];
    const note = (warning: Error): void => void warnings.push(warning);
    process.on('warning', note);
    const pending = Array.from({ length: 50 }, () => errorOf(listeners.add(OBJECT, listener)));
    await new Promise(setImmediate);
    listeners.close();
    for (const error of await Promise.all(pending)) expect(error).to.be.instanceOf(ShutdownError);
    await new Promise(setImmediate);
    process.off('warning', note);
    expect(warnings).to.deep.equal([]);
    expect([opened, closed]).to.deep.equal([1, 1]);
  });
});
