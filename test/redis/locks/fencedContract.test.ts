import { tokenKey } from '../../../lib/locks/kinds/fenced';
import { lockContract } from '../../contracts/lockContract';

lockContract('RFencedLock', {
  make: (client, name) => client.getFencedLock(name),
  traits: { reentrant: true, pubsub: true, fenced: true },
  persistentKeys: (name) => [tokenKey(name)],
});
