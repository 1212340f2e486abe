import { channel, tracingChannel } from 'node:diagnostics_channel';
import { createRequire } from 'node:module';
import type { AcquireMessage, HoldMessage, LockLostEvent, RenewalMessage } from '../../../lib';
import { skip, sleepUntil, trackClient } from '../../support';

/** What happened on a tracing channel, in order. */
export type Step = 'start' | 'end' | 'asyncStart' | 'asyncEnd' | 'error';

interface Heard<M> {
  readonly message: M;
  readonly steps: Step[];
}

const STEPS: readonly Step[] = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'];

/** Listens to the channels until the test ends, to messages of some names or of all. */
export class Recorder {
  readonly acquisitions: Heard<AcquireMessage>[] = [];
  readonly holds: Heard<HoldMessage>[] = [];
  readonly lost: LockLostEvent[] = [];
  readonly renewals: RenewalMessage[] = [];
  /** Every beginning and end, in words. */
  readonly log: string[] = [];
  readonly #stops: (() => void)[] = [];

  constructor() {
    this.#follow('acquire', this.acquisitions);
    this.#follow('hold', this.holds);
    this.#listen('ioredisson:lost', (message) => this.lost.push(message as LockLostEvent));
    this.#listen('ioredisson:renewal', (message) => this.renewals.push(message as RenewalMessage));
    trackClient({ close: () => this.stop() });
  }

  /** The messages of acquisitions. */
  get acquired(): AcquireMessage[] {
    return this.acquisitions.map(({ message }) => message);
  }

  /** The messages of holds. */
  get held(): HoldMessage[] {
    return this.holds.map(({ message }) => message);
  }

  /** Resolves when so many holds have ended. */
  async untilEnded(count: number): Promise<void> {
    await sleepUntil(() => this.held.filter(({ outcome }) => outcome !== undefined).length >= count, {
      message: `${count} holds have ended`,
    });
  }

  stop(): void {
    for (const stop of this.#stops.splice(0)) stop();
  }

  #follow<M extends { name: string; outcome?: string }>(what: 'acquire' | 'hold', heard: Heard<M>[]): void {
    const known = new Map<object, Heard<M>>();
    for (const step of STEPS) {
      this.#listen(`tracing:ioredisson:${what}:${step}`, (message) => {
        let one = known.get(message);
        if (one === undefined) {
          known.set(message, (one = { message: message as M, steps: [] }));
          heard.push(one);
        }
        one.steps.push(step);
        if (step === 'start') this.log.push(`${what} ${one.message.name}`);
        if (step === 'asyncEnd') this.log.push(`${what} ${one.message.name}: ${one.message.outcome}`);
      });
    }
  }

  #listen(name: string, listener: (message: object) => void): void {
    const subscriber = (message: unknown): void => listener(message as object);
    channel(name).subscribe(subscriber);
    this.#stops.push(() => channel(name).unsubscribe(subscriber));
  }
}

/** Whether anybody listens to any of the channels. */
export function anySubscriber(): boolean {
  const names = ['ioredisson:lost', 'ioredisson:renewal'];
  for (const what of ['acquire', 'hold']) names.push(...STEPS.map((step) => `tracing:ioredisson:${what}:${step}`));
  return names.some((name) => channel(name).hasSubscribers);
}

/** The channels themselves. */
export const acquireChannel = tracingChannel<unknown, AcquireMessage>('ioredisson:acquire');
export const holdChannel = tracingChannel<unknown, HoldMessage>('ioredisson:hold');

/** Skips a test where ioredis does not tell of its commands on a channel: it does from 5.11 on. */
export function needTracedCommands(context: Mocha.Context): void {
  const { version } = createRequire(__filename)('ioredis/package.json') as { version: string };
  const [major, minor] = version.split('.').map(Number);
  if (major! < 5 || (major === 5 && minor! < 11)) skip(context, `ioredis ${version} traces no commands`);
}
