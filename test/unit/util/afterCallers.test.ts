import { expect } from 'chai';
import { afterCallers } from '../../../lib/util/timing';

describe('afterCallers', () => {
  it('runs when the callers whose promises were settled before have continued, and in the same turn of the event loop', async () => {
    const order: string[] = [];
    // As `lock()`: its caller awaits the `then` of an async function.
    const acquire = async (): Promise<void> => {
      await Promise.resolve();
      afterCallers(() => order.push('work'));
    };
    const immediate = new Promise<void>((resolve) =>
      setImmediate(() => {
        order.push('next turn');
        resolve();
      }),
    );
    await acquire().then(() => undefined);
    order.push('caller');
    await immediate;
    expect(order).to.deep.equal(['caller', 'work', 'next turn']);
  });

  it('runs each work once, in the order of the calls', async () => {
    const order: number[] = [];
    for (const n of [1, 2, 3]) afterCallers(() => order.push(n));
    await new Promise(setImmediate);
    afterCallers(() => order.push(4));
    await new Promise(setImmediate);
    expect(order).to.deep.equal([1, 2, 3, 4]);
  });

  it('runs the other works where one throws, and reports the error as an unhandled rejection', async () => {
    const order: number[] = [];
    const reported: unknown[] = [];
    const others = process.listeners('unhandledRejection');
    const listener = (reason: unknown): void => void reported.push(reason);
    process.removeAllListeners('unhandledRejection').on('unhandledRejection', listener);
    try {
      afterCallers(() => {
        throw new Error('first');
      });
      afterCallers(() => order.push(2));
      await new Promise(setImmediate);
      afterCallers(() => order.push(3));
      await new Promise(setImmediate);
    } finally {
      process.off('unhandledRejection', listener);
      for (const other of others) process.on('unhandledRejection', other);
    }
    expect(order).to.deep.equal([2, 3]);
    expect(reported).to.have.lengthOf(1);
    expect(reported[0]).to.be.an('error').with.property('message', 'first');
  });
});
