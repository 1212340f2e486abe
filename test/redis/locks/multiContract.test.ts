import { lockContract } from '../../contracts/lockContract';

/** The first one has the name itself, so that a name that is none is found out. */
function members(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => (i === 0 ? name : `${name}:${i}`));
}

lockContract('MultiLock', {
  make: (client, name) => client.getMultiLock(...members(name, 3).map((member) => client.getLock(member))),
  traits: { reentrant: true, pubsub: true, single: false },
  keys: (name) => members(name, 3),
});

lockContract('RedLock', {
  make: (client, name) => client.getRedLock(...members(name, 3).map((member) => client.getLock(member))),
  traits: { reentrant: true, pubsub: true, single: false },
  keys: (name) => members(name, 3),
});
