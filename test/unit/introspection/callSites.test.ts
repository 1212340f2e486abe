import { expect } from 'chai';
import { callSiteHere } from '../../../lib/introspection/callSites';

describe('the line that has called this package', () => {
  const { prepareStackTrace, stackTraceLimit } = Error;

  afterEach(() => {
    Error.prepareStackTrace = prepareStackTrace;
    Error.stackTraceLimit = stackTraceLimit;
  });

  function withStack(...frames: readonly string[]): string | undefined {
    Error.prepareStackTrace = () => ['Error', ...frames.map((one) => `    at ${one}`)].join('\n');
    return callSiteHere();
  }
  const OWN = 'callSiteHere (/app/node_modules/ioredisson/dist/introspection/callSites.js:1:1)';

  it('is the first one outside of it', () => {
    const inside = 'Lock.lock (/app/node_modules/ioredisson/dist/locks/Lock.js:2:3)';
    expect(withStack(OWN, inside, 'async pay (/app/src/pay.js:7:11)')).to.equal('/app/src/pay.js:7:11');
    expect(withStack(OWN, inside, 'node:internal/process/task_queues:95:5')).to.equal(undefined);
  });

  it('has no secret: neither a query nor the program that is an address itself', () => {
    expect(withStack(OWN, 'file:///app/pay.mjs?token=s3cret:7:11')).to.equal('file:///app/pay.mjs:7:11');
    expect(withStack(OWN, 'run (https://host/pay.mjs?token=s3cret#x:7:11)')).to.equal('https://host/pay.mjs:7:11');
    expect(withStack(OWN, "data:text/javascript,const password='s3cret':1:20")).to.equal('data::1:20');
  });

  it('is unknown, and no lock is refused, where stacks are no text, throw, or Error is frozen', () => {
    Error.prepareStackTrace = (_error, frames) => frames;
    expect(callSiteHere()).to.equal(undefined);
    Error.prepareStackTrace = () => {
      throw new Error('not mine');
    };
    expect(callSiteHere()).to.equal(undefined);
    Error.prepareStackTrace = prepareStackTrace;
    Object.defineProperty(Error, 'stackTraceLimit', { value: 10, writable: false, configurable: true });
    try {
      expect(callSiteHere()).to.equal(undefined);
    } finally {
      Object.defineProperty(Error, 'stackTraceLimit', { value: stackTraceLimit, writable: true, configurable: true });
    }
  });
});
