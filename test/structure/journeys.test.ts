import { expect } from 'chai';
import * as fs from 'node:fs';
import { Session } from 'node:inspector/promises';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import { BackOffWaits } from '../../lib/acquire/BackOffWaits';
import { Introspection } from '../../lib/introspection/Introspection';
import { fakeClock, skip, turn } from '../support';
import { CHANNEL, FakeClient, NAME } from '../support/fakeClient';
import { stepsOf } from './architecture';

const root = path.resolve(__dirname, '..', '..');
const lib = path.join(root, 'lib');
const page = fs.readFileSync(path.join(root, 'docs', 'architecture.md'), 'utf8');

/** Not counted on the page. */
const BELOW = /^(connection|errors|config)\//;
/** Settings of introspection. */
const UNASKED = { nameOf: String, callSites: false, place: '' };

function journey(heading: string): string[] {
  return stepsOf(page, heading)
    .map(({ file }) => file)
    .filter((file) => !BELOW.test(file));
}

/** The files of lib/ in which a function runs during `work`, as V8 counts them. */
async function filesRunBy(work: () => Promise<unknown>): Promise<string[]> {
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    await session.post('Profiler.takePreciseCoverage');
    await work();
    const { result } = await session.post('Profiler.takePreciseCoverage');
    return result
      .filter(({ url, functions }) => url.startsWith('file:') && functions.some(({ ranges }) => ranges[0]!.count > 0))
      .map(({ url }) => path.relative(lib, fileURLToPath(url)).split(path.sep).join('/'))
      .filter((file) => !file.startsWith('..') && !BELOW.test(file));
  } finally {
    session.disconnect();
  }
}

// On a fake server, so that nothing runs beside the call.
describe('the journeys of docs/architecture.md name all files that run', () => {
  const acquiring = journey('`tryLock()` of a free lock');
  const waking = journey('A wake-up');
  let client: FakeClient;

  before(function () {
    if (process.env['NODE_V8_COVERAGE'] !== undefined) skip(this, 'c8 reads the same counters');
  });

  beforeEach(() => {
    fakeClock();
    client = new FakeClient();
  });

  it('tryLock() of a free lock', async () => {
    // As of a client that can be asked, and not the first call: that one sets a timer for as long as anything is held.
    const introspection = new Introspection({ ...client.context, backOffWaits: new BackOffWaits(), ...UNASKED });
    Object.assign(client.context, { introspection });
    const former = client.lock('another');
    await former.tryLock();
    await former.unlock();
    await turn();
    const lock = client.lock();
    const files = await filesRunBy(() => lock.tryLock());
    expect(files).to.have.members(acquiring);
    await client.shutdown();
  });

  it('a wake-up, up to the attempt that follows', async () => {
    client.redis.seize(NAME, 'another');
    const waiting = client.lock().lock();
    await turn();
    client.redis.delete(NAME);
    const files = await filesRunBy(() => {
      client.redis.publish(CHANNEL, '0');
      return waiting;
    });
    expect(files).to.include.members(waking);
    // From the attempt on it is the other journey.
    expect([...waking, ...acquiring]).to.include.members(files);
    await client.shutdown();
  });
});
