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
});
