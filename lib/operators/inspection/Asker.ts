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
import { settledWithin } from '../../util/timing';
import { readAnswer } from './readAnswer';

/**
 * A client that has not answered after this many steps of this length (ms) is silent: frozen, or its event loop is
 * busy. We wait in steps because our own event loop may be the busy one: between steps we read what has arrived.
 */
const ANSWER_STEPS = 10;
const STEP_MS = 100;
/** The result of a question. `unheard`: the client does not listen; `silent`: it listens, but was late. */
export type Reply = Answer | 'unheard' | 'silent';

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
  async askAll(clientId: string, limit: number): Promise<ClientAnswer | 'unheard' | 'silent'> {
    const first = await this.ask(clientId, {});
    if (typeof first === 'string') return first;
    const { id: _id, ...answer } = first;
    const holds = [...answer.holds];
    let page: Answer = first;
    // Stop at a page that is not full: a client with a wrong total must not be asked for ever.
    while (holds.length < Math.min(limit, page.total.holds) && page.holds.length === PAGE_SIZE) {
      const next = await this.ask(clientId, { from: holds.length });
      if (typeof next === 'string') break;
      page = next;
      holds.push(...next.holds);
    }
    return { ...answer, holds: holds.slice(0, limit) };
  }

  /**
   * Asks one question.
   * @param what - report only holds of these keys; skip so many holds
   * @throws as {@link askAll}
   */
  async ask(clientId: string, what: Pick<Question, 'keys' | 'from'>): Promise<Reply> {
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
