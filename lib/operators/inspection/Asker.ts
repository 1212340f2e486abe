import { randomUUID } from 'node:crypto';
import pDefer, { type DeferredPromise } from 'p-defer';
import type { Connections } from '../../connection/connect';
import {
  type Answer,
  answerChannel,
  type ClientAnswer,
  clientChannel,
  PAGE_SIZE,
  type Question,
} from '../../introspection/wire';
import { addTo, chunks } from '../../util/collections';
import { settledWithin } from '../../util/timing';
import { hasPermits, type ObjectDraft } from './describe';
import { readAnswer } from './readAnswer';
import { type RedisView, unlessRefused } from './RedisView';

/**
 * A client that has not answered after so many steps of so long (ms) is silent: frozen, or its event loop is busy. In
 * steps, so that it is not called so where it is our own event loop that was busy: what has come is read between them.
 */
const ANSWER_STEPS = 10;
const STEP_MS = 100;
/** The most clients that are asked at once. */
const MAX_ASKED = 1_000;
/** The most questions of one survey to one client, each about {@link PAGE_SIZE} keys. */
const MAX_QUESTIONS = 10;

/** What several clients have answered. */
export interface Survey {
  readonly answers: readonly ClientAnswer[];
  /** The ids of all clients that listen for questions. */
  readonly listening: ReadonlySet<string>;
  /**
   * The ids of the clients that listen, and have not answered within a second, twice; and since when they have not, in ms
   * since 1970: since the first question that was in vain.
   */
  readonly silent: ReadonlyMap<string, number>;
}

/** What became of a question: `unheard`: the client does not listen; `silent`: it does, and did not answer in time. */
type Reply = Answer | 'unheard' | 'silent';

/**
 * Asks clients what they hold, and who waits.
 *
 * States: idle -> listening to its answers, from the first question on -> closed.
 */
export class Asker {
  readonly #connections: Connections;
  readonly #channel = answerChannel(randomUUID());
  /** By the id of the question. */
  readonly #asked = new Map<string, { readonly clientId: string; readonly reply: DeferredPromise<Reply> }>();
  /** Those of the last survey. */
  #silent: ReadonlyMap<string, number> = new Map();
  #listening: Promise<void> | undefined;

  /** @param connections - of which nobody else uses the subscriber */
  constructor(connections: Connections) {
    this.#connections = connections;
    const message = (_channel: string, text: string): void => this.#heard(text);
    connections.subscriber.events = { message, interrupted: () => undefined, restored: () => undefined };
  }

  /** Ends what is under way, as not answered. */
  close(): void {
    for (const { reply } of this.#asked.values()) reply.resolve('silent');
    this.#connections.subscriber.close();
  }

  /**
   * Asks one client, page by page.
   * @param limit - at most so many holds
   * @returns its answer, with the holds of all pages; or why there is none
   * @throws CommandError if the user of the inspector may not publish or listen there; errors of the connection
   */
  async ask(clientId: string, limit: number): Promise<ClientAnswer | 'unheard' | 'silent'> {
    const first = await this.#ask(clientId, {});
    if (typeof first === 'string') return first;
    const { id: _id, ...answer } = first;
    const holds = [...answer.holds];
    let page: Answer = first;
    // Only the last page is not full: what a client says is not believed so far that it is asked for ever.
    while (holds.length < Math.min(limit, page.total.holds) && page.holds.length === PAGE_SIZE) {
      const next = await this.#ask(clientId, { from: holds.length });
      if (typeof next === 'string') break;
      page = next;
      holds.push(...next.holds);
    }
    return { ...answer, holds: holds.slice(0, limit) };
  }

  /**
   * Asks every client that has held something, or waited, for some seconds; those that have one of the objects first.
   * @param objects - only holds of these. Who has permits Redis does not tell: any may
   * @returns `undefined` where the user of the inspector may not ask
   */
  survey(redis: RedisView, objects: readonly ObjectDraft[]): Promise<Survey | undefined> {
    return unlessRefused(this.#survey(redis, objects), undefined);
  }

  async #survey(redis: RedisView, objects: readonly ObjectDraft[]): Promise<Survey | undefined> {
    const listening = await redis.listeningClients();
    const ofAny = objects.filter(({ kind }) => hasPermits(kind)).map(({ key }) => key);
    const keysOf = new Map<string, string[]>();
    for (const { key, kind, holders } of objects) {
      if (hasPermits(kind)) continue;
      for (const clientId of new Set(holders.map((one) => one.clientId))) addTo(keysOf, clientId, key);
    }
    const holdersFirst = [...listening].sort((a, b) => Number(keysOf.has(b)) - Number(keysOf.has(a)));
    const answers: ClientAnswer[] = [];
    const silent = new Map<string, number>();
    await Promise.all(
      holdersFirst.slice(0, MAX_ASKED).map(async (clientId) => {
        const askedAt = Date.now();
        const questions = chunks([...(keysOf.get(clientId) ?? []), ...ofAny], PAGE_SIZE).slice(0, MAX_QUESTIONS);
        // Without any key it is asked, too: who waits?
        for (const keys of questions.length === 0 ? [[]] : questions) {
          // A verdict rests on it: one that is only short of CPU gets a second chance.
          const first = await this.#ask(clientId, { keys });
          const reply = first === 'silent' ? await this.#ask(clientId, { keys }) : first;
          if (reply === 'silent') silent.set(clientId, this.#silent.get(clientId) ?? askedAt);
          if (typeof reply === 'string') return;
          // It says with each answer who waits: once is enough.
          answers.push(answers.some((one) => one.clientId === clientId) ? { ...reply, waits: [] } : reply);
        }
      }),
    );
    this.#silent = silent;
    return { answers, listening: new Set(listening), silent };
  }

  async #ask(clientId: string, what: Pick<Question, 'keys' | 'from'>): Promise<Reply> {
    await (this.#listening ??= this.#listen());
    // Whoever has been asked something else cannot guess it.
    const id = randomUUID();
    const question: Question = { id, to: this.#channel, ...what };
    const reply = pDefer<Reply>();
    this.#asked.set(id, { clientId, reply });
    try {
      const receivers = await this.#connections.executor.publish(clientChannel(clientId), JSON.stringify(question));
      // A cluster counts the receivers of one node only.
      if (receivers === 0 && this.#connections.subscriber.countsReceivers) return 'unheard';
      for (let step = 0; step < ANSWER_STEPS; step++) await settledWithin([reply.promise], STEP_MS);
      return await Promise.race([reply.promise, Promise.resolve('silent' as const)]);
    } finally {
      this.#asked.delete(id);
    }
  }

  #listen(): Promise<void> {
    return this.#connections.subscriber.subscribe(this.#channel).catch((error: unknown) => {
      this.#listening = undefined;
      throw error;
    });
  }

  /** Anybody may publish there: only who was asked is believed. */
  #heard(text: string): void {
    const answer = readAnswer(text);
    const asked = answer && this.#asked.get(answer.id);
    if (answer !== undefined && asked?.clientId === answer.clientId) asked.reply.resolve(answer);
  }
}
