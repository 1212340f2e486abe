import { workerData } from 'node:worker_threads';
import type { ThreadData } from './messages';
import { RenewalWorker } from './RenewalWorker';

/** The file that the watchdog thread runs. */
export const renewals = new RenewalWorker(workerData as ThreadData);
