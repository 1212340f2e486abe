import { expect } from 'chai';
import { VALUES } from '../../matrix/axes';
import { chosen } from '../../matrix/chosen';

describe('--only of the matrix', () => {
  const refuse = (message: string): never => {
    throw new Error(message);
  };

  it('leaves the values that it names by their beginnings, and all of an axis that it does not name', () => {
    const { node, ioredis, server, topology } = chosen('node-22, ioredis-5,valkey,cluster', refuse);
    expect(node).to.deep.equal(VALUES.node.filter((id) => id.startsWith('node-22.')));
    expect(ioredis).to.deep.equal(VALUES.ioredis.filter((id) => id.startsWith('ioredis-5.')));
    expect(server).to.deep.equal(['valkey-8', 'valkey-9']);
    expect(topology).to.deep.equal(['cluster']);
    expect(chosen('redis-6.2', refuse)).to.deep.equal({ ...VALUES, server: ['redis-6.2'] });
    expect(chosen(undefined, refuse)).to.deep.equal(VALUES);
  });

  it('refuses what begins no value, and nothing', () => {
    for (const only of ['node-19', 'node-22,', '', 'Redis-7', 'cluster,,redis-7']) {
      expect(() => chosen(only, refuse), only).to.throw('unknown');
    }
  });
});
