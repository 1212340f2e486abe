import { lockContract } from '../../contracts/lockContract';

lockContract('RLock (non-reentrant)', {
  make: (client, name) => client.getNonReentrantLock(name),
  traits: { reentrant: false, pubsub: true },
});

lockContract('RLock (non-reentrant, fair)', {
  make: (client, name) => client.getNonReentrantFairLock(name),
  traits: { reentrant: false, pubsub: true, fair: true },
});
