// Ids in titles: test/README.md
import { latchSuite } from '../../contracts/latchContract';

describe('CountDownLatch', () => {
  latchSuite({
    'a key that holds text is no open latch': 'B11',
    'opens within the time': 'CL-01 testAwaitTimeout',
    'does not open within the time': 'CL-02 testAwaitTimeoutFail',
    'a latch is deleted': 'CL-05 testDelete',
    'there is nothing to delete': 'CL-06 testDeleteFailed',
    'the count is set once': 'CL-07 testTrySetCount',
    'the count of a latch that is not there is zero, and it is open': 'CL-08 testCount',
    'every waiter goes when the last one has counted down': 'CC-01 testSingleCountDownAwait_SingleInstance',
  });
});
