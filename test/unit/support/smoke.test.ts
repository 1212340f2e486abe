import { expect } from 'chai';
import * as sinon from 'sinon';

describe('smoke', () => {
  it('runs', async () => {
    const log: string[] = [];
    {
      await using x = { [Symbol.asyncDispose]: async () => void log.push('disposed') };
      void x;
    }
    expect(log).to.deep.equal(['disposed']);
    expect(sinon.stub().callCount).to.equal(0);
  });
});
