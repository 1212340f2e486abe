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
 * A client that has not answered after this many steps of this length (ms) is silent: frozen, or its event loop is
 * busy. We wait in steps because our own event loop may be the busy one: between steps we read what has arrived.
 */
const ANSWER_STEPS = 10;
const STEP_MS = 100;
/** At most this many clients are asked in one survey. */
const MAX_ASKED = 1_000;
/** At most this many questions per client in one survey, each about up to {@link PAGE_SIZE} keys. */
const MAX_QUESTIONS = 10;

/** The answers of several clients. */
export interface Survey {
  readonly answers: readonly ClientAnswer[];
  /** The ids of all clients that listen for questions. */
  readonly listening: ReadonlySet<string>;
  /**
   * Clients that listen, but twice did not answer within a second. By client id: when they were asked the first
   * question that they did not answer, in ms since 1970.
   */
  readonly silent: ReadonlyMap<string, number>;
}

/** The result of a question. `unheard`: the client does not listen; `silent`: it listens, but was late. */
type Reply = Answer | 'unheard' | 'silent';

/**
 * Asks clients what they hold and who waits.
 *
 * States: idle -> listening to its answers, from the first question on -> closed.
 */
export class Asker {
  readonly #connections: Connections;
  readonly #channel = answerChannel(randomUUID());
  /** Open questions, by question id. */
  readonly #asked = new Map<string, { readonly clientId: string; readonly reply: DeferredPromise<Reply> }>();
  /** The silent clients of the last survey. */
  #silent: ReadonlyMap<string, number> = new Map();
  #listening: Promise<void> | undefined;

  /** @param connections - their subscriber is used by this object only */
  constructor(connections: Connections) {
    this.#connections = connections;
    const message = (_channel: string, text: string): void => this.#heard(text);
    connections.subscriber.events = { message, interrupted: () => undefined, restored: () => undefined };
  }

  /** Ends open questions as not answered. */
  close(): void {
    for (const { reply } of this.#asked.values()) reply.resolve('silent');
    this.#connections.subscriber.close();
  }

  /**
   * Asks one client, page by page.
   * @param limit - the most holds to return
   * @returns its answer with the holds of all pages, or why it did not answer
   * @throws CommandError if the inspector's user may not publish or subscribe there; errors of the connection
   */
  async ask(clientId: string, limit: number): Promise<ClientAnswer | 'unheard' | 'silent'> {
    const first = await this.#ask(clientId, {});
    if (typeof first === 'string') return first;
    const { id: _id, ...answer } = first;
    const holds = [...answer.holds];
    let page: Answer = first;
    // Stop at a page that is not full: a client with a wrong total must not be asked for ever.
    while (holds.length < Math.min(limit, page.total.holds) && page.holds.length === PAGE_SIZE) {
      const next = await this.#ask(clientId, { from: holds.length });
      if (typeof next === 'string') break;
      page = next;
      holds.push(...next.holds);
    }
    return { ...answer, holds: holds.slice(0, limit) };
  }

  /**
   * Asks every client that has held or waited for something for some seconds. Holders of the objects come first.
   * @param objects - report only holds of these. Redis does not store who has permits: every client may have some
   * @returns `undefined` if the inspector's user may not ask
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
        // A client with none of the keys is asked, too: it reports who waits.
        for (const keys of questions.length === 0 ? [[]] : questions) {
          // A verdict depends on this: ask again, in case the client is only short of CPU.
          const first = await this.#ask(clientId, { keys });
          const reply = first === 'silent' ? await this.#ask(clientId, { keys }) : first;
          if (reply === 'silent') silent.set(clientId, this.#silent.get(clientId) ?? askedAt);
          if (typeof reply === 'string') return;
          // Every answer of a client repeats its waits: keep them once.
          answers.push(answers.some((one) => one.clientId === clientId) ? { ...reply, waits: [] } : reply);
        }
      }),
    );
    this.#silent = silent;
    return { answers, listening: new Set(listening), silent };
  }

  async #ask(clientId: string, what: Pick<Question, 'keys' | 'from'>): Promise<Reply> {
    await (this.#listening ??= this.#listen());
    // A random id: a client that was asked another question cannot guess it.
    const id = randomUUID();
    const question: Question = { id, to: this.#channel, ...what };
    const reply = pDefer<Reply>();
    this.#asked.set(id, { clientId, reply });
    try {
      const receivers = await this.#connections.executor.publish(clientChannel(clientId), JSON.stringify(question));
      // A cluster counts only the receivers on one node.
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

  /** Any client may publish on this channel: accept an answer only from the client that was asked. */
  #heard(text: string): void {
    const answer = readAnswer(text);
    const asked = answer && this.#asked.get(answer.id);
    if (answer !== undefined && asked?.clientId === answer.clientId) asked.reply.resolve(answer);
  }
}
