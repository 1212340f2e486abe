/**
 * `npm run example:bullmq`: two processes of BullMQ workers write invoices. Each line shows whose invoices are being
 * written: those of several customers at once, those of one customer one after the other, in whichever process.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import * as path from 'node:path';
import { installFolder } from '../../tools/installFolder';
import { exampleRedis } from '../exampleRedis';
import { connection, type Invoice, QUEUE, type Report } from './queue';

const PROCESSES = 2;
const CUSTOMERS = ['alice', 'bob', 'carol'];
const INVOICES = 4;

async function main(): Promise<void> {
  if (!installFolder(__dirname, 'BullMQ', console.log)) throw new Error('BullMQ could not be installed');
  const { Queue } = await import('bullmq');
  const server = await exampleRedis();
  const workers = Array.from({ length: PROCESSES }, () => startWorker(server.url));
  const queue = new Queue<Invoice>(QUEUE, { connection: connection(server.url) });
  try {
    await Promise.all(workers.map((worker) => once(worker, 'message')));
    const jobs = CUSTOMERS.length * INVOICES;
    const ended = watch(workers, jobs);
    for (let number = 1; number <= INVOICES; number++) {
      await queue.addBulk(CUSTOMERS.map((customer) => ({ name: 'invoice', data: { customer, number } })));
    }
    const { most, mostOfOne } = await ended;
    console.log(`${jobs} jobs in ${PROCESSES} processes: at most ${most} at once, ${mostOfOne} of one customer`);
    if (mostOfOne !== 1) process.exitCode = 1;
  } finally {
    await Promise.all(workers.map(endWorker));
    await queue.obliterate({ force: true });
    await queue.close();
    await server.stop();
  }
}

function startWorker(url: string): ChildProcess {
  return fork(path.join(__dirname, 'worker.ts'), {
    execArgv: ['--require', path.join(__dirname, '..', '..', 'tools', 'register.cjs')],
    env: { ...process.env, REDIS_URL: url },
  });
}

async function endWorker(worker: ChildProcess): Promise<void> {
  const exit = once(worker, 'exit');
  worker.disconnect();
  await exit;
}

/** Prints what begins and ends; resolves when all jobs have ended. */
function watch(workers: readonly ChildProcess[], jobs: number): Promise<{ most: number; mostOfOne: number }> {
  const running = new Map<string, number>(CUSTOMERS.map((customer) => [customer, 0]));
  let most = 0;
  let mostOfOne = 0;
  let left = jobs;
  return new Promise((resolve, reject) => {
    workers.forEach((worker, i) => {
      worker.once('exit', () => {
        if (left > 0) reject(new Error(`worker ${i + 1} has ended`));
      });
      worker.on('message', ({ customer, number, event, inside }: Report) => {
        running.set(customer, inside);
        mostOfOne = Math.max(mostOfOne, inside);
        if (event === 'begin') {
          most = Math.max(
            most,
            [...running.values()].reduce((sum, one) => sum + one),
          );
          const now = CUSTOMERS.map((one) => (running.get(one)! > 0 ? one : '.'.repeat(one.length))).join(' ');
          console.log(`${now}   ${customer}, invoice ${number}, in process ${i + 1}`);
        } else if (--left === 0) {
          resolve({ most, mostOfOne });
        }
      });
    });
  });
}

void main();
