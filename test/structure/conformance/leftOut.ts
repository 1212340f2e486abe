const THREADS = 'a race of operating-system threads; there is one thread here';

/** Scenarios without a test, and why. A scenario that is here and has a test fails the suite. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  'LY-01': 'the Rx façade of LX-01: there is one asynchronous API here',
  'LY-03': 'the Rx façade of LX-03: there is one asynchronous API here',
  'AS-04': 'counts forks of a Java executor',
  'AS-05': THREADS,
  'AS-06': THREADS,
  'AS-09': THREADS,
  'MS-01': 'an in-process spin lock that is re-entered by the call stack; an asynchronous lock has no such owner',
  'CH-01': 'the connection pool is ioredis’ affair',
  'CH-02': 'the connection pool is ioredis’ affair',
  'MC-01': 'locks of map keys are not part of this package',
};
