import { Redisson } from '../../lib';

/*
 * A process that holds a lock which its watchdog thread renews, with its event loop blocked; or, with 'off', has a lock
 * without such a thread and tells whether node:worker_threads was loaded. Run by watchdogThread.test.ts.
 */

function loaded(): number {
  const { moduleLoadList } = process as unknown as { readonly moduleLoadList: readonly string[] };
  return moduleLoadList.filter((name) => name === 'NativeModule worker_threads').length;
}

async function main(url: string, name: string, watchdogMs: number, off: boolean): Promise<void> {
  const before = loaded();
  const redisson = Redisson.create({ url, lockWatchdogTimeout: watchdogMs, watchdogThread: !off });
  const hold = await redisson.getLock(name).acquire();
  if (!off) {
    await new Promise((resolve) => setTimeout(resolve, watchdogMs));
    await new Promise((resolve) => process.stdout.write('held\n', resolve));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60_000);
  }
  process.stdout.write(`held\nloaded ${loaded() - before}\n`);
  await hold.unlock();
  await redisson.shutdown();
}

if (require.main === module) {
  const [url = '', name = '', watchdogMs = '', off = ''] = process.argv.slice(2);
  void main(url, name, Number(watchdogMs), off === 'off');
}
