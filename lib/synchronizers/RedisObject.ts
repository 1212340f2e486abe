import { mapName } from '../config/validateName';
import type { RunOptions } from '../connection/CommandExecutor';
import { ShutdownError } from '../errors';
import type { Place } from '../pubsub/Place';
import type { WakeRule } from '../pubsub/wakeRules';
import type { Script, ScriptArg } from '../scripts/Script';
import { type Contest, acquireWithin } from '../wait/acquireWithin';
import { ENDLESS_PATIENCE, Patience } from '../wait/Patience';
import type { ObjectKeys } from './objectKeys';
import type { SynchronizerContext } from './SynchronizerContext';

/**
 * One synchronizer in Redis, whatever its kind: its names, its scripts, its waiters. What the facades and the waits of one
 * name have in common.
 */
export class RedisObject<Keys extends ObjectKeys = ObjectKeys> {
  /** As the user gave it. */
  readonly name: string;
  /** By their names in the scripts. */
  readonly keys: Keys;
  readonly context: SynchronizerContext;
  readonly #kind: string;

  /**
   * @param kind - what it is, for errors, e.g. `semaphore`
   * @param name - checked; the name mapper makes the raw name of it
   * @param keysOf - the keys and the channel of a raw name
   * @throws ConfigError when the name mapper gives nonsense
   */
  constructor(context: SynchronizerContext, kind: string, name: string, keysOf: (rawName: string) => Keys) {
    this.context = context;
    this.name = name;
    this.keys = keysOf(mapName(name, context.settings.nameMapper, kind));
    this.#kind = kind;
  }

  /** Every key and channel; on a cluster they must be on one slot. */
  get allKeys(): readonly string[] {
    return Object.values(this.keys as unknown as Readonly<Record<string, string>>);
  }

  /**
   * Runs one of its scripts.
   *
   * @param what - what is being done, for errors, e.g. `release permits of`
   * @throws the errors of the executor
   */
  run<K extends string & keyof Keys, A extends string, R>(
    script: Script<K, A, R>,
    args: Readonly<Record<A, ScriptArg>>,
    what: string,
    options?: RunOptions<R>,
  ): Promise<R> {
    const keys = this.keys as unknown as Readonly<Record<K, string>>;
    return this.context.executor.run(script, keys, args, {
      ...options,
      what: `${what} ${this.#kind}`,
      name: this.name,
    });
  }

  /** Why nothing of it can be sent now. @param what - as for {@link run} */
  outage(what: string): Error | undefined {
    return this.context.executor.outage(this.allKeys[0]!, `${what} ${this.#kind} '${this.name}'`);
  }

  /**
   * Takes a place among its waiters, each of whom waits for itself.
   * @param need - how many permits it waits for
   * @throws ShutdownError when the client is shut down
   */
  join<T>(rule: WakeRule, need = 1): Place<T> {
    return this.context.hub.join<T>(this.keys.channel, this.keys.name, rule, 'crowd', undefined, need);
  }

  /**
   * Runs a wait.
   *
   * @param waitMs - how long, in ms; `Infinity` without limit; 0 or less: one attempt
   * @returns what was acquired, or `undefined` when the time was up
   * @throws the signal's reason; errors of the executor and of the subscription
   */
  wait<T>(contest: Contest<T>, waitMs: number, signal: AbortSignal | undefined): Promise<T | undefined> {
    if (this.context.closing.aborted) return Promise.reject(new ShutdownError(`wait for ${this.#kind} '${this.name}'`));
    const timed = waitMs > 0 && waitMs !== Infinity;
    if (!timed && signal === undefined) return acquireWithin(contest, ENDLESS_PATIENCE);
    return acquireWithin(contest, new Patience(timed ? performance.now() + waitMs : Infinity, signal));
  }
}
