import { expect } from 'chai';

describe('a file whose rejection is handled late', () => {
  it("finds the listeners that the first file of a process finds: ours, and mocha's", async () => {
    expect(process.listenerCount('unhandledRejection')).to.equal(2);
    const rejected = Promise.reject(new Error('late'));
    await new Promise((resolve) => setImmediate(resolve));
    await rejected.catch(() => undefined);
  });
});
