import { DisLock, type Redisson } from '../../../lib';
import { trackClient, uniqueName } from '../../support';
import { newClient } from '../synchronizers/support';

/** A client that `@DisLock` uses where it was given none, until the test is over, and a name for its locks. */
export function openDisLock(): { readonly client: Redisson; readonly name: string } {
  const client = newClient();
  DisLock.use(client);
  // It holds for the whole process: no other test may find a client that is closed.
  trackClient({ close: () => DisLock.use(undefined) });
  return { client, name: uniqueName() };
}
