import { randomUUID } from 'node:crypto';
import type { Settings } from '../config/Settings';
import { connect, type Connections } from '../connection/connect';
import { CommandError } from '../errors';
import {
  type Answer,
  answerChannel,
  type ClientAnswer,
  clientChannel,
  PAGE_SIZE,
  type Question,
} from '../introspection/wire';
import { Alarm } from '../util/Alarm';
import type { RedisView } from './RedisView';

/** A client that has not answered after so long (ms) is silent: frozen, or its event loop is busy. */
const ANSWER_MS = 1_000;
/** The most clients that are asked at once. */
const MAX_ASKED = 200;

/** What several clients have answered. */
export interface Survey {
  readonly answers: readonly ClientAnswer[];
  /** The ids of the clients that listen, and have not answered within a second. */
  readonly silent: ReadonlySet<string>;
}

/** What became of a question: `unheard`: the client does not listen; `silent`: it does, and did not answer in time. */
type Reply = Answer | 'unheard' | 'silent';

interface Asked {
  readonly dueAt: number;
  end(reply: Reply): void;
}

/**
 * Asks clients what they hold, and who waits. It has connections of its own, opened when it first asks.
 *
 * States: idle -> open (it listens to its answers) -> closed.
 */
export class Asker {
  readonly #settings: Settings;
  readonly #channel = answerChannel(randomUUID());
  readonly #asked = new Map<string, Asked>();
  readonly #alarm = new Alarm(() => this.#expire(), true);
  #opened: Promise<Connections> | undefined;
  #connections: Connections | undefined;
  #count = 0;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** Ends what is under way, as not answered. */
  async close(): Promise<void> {
    this.#alarm.off();
    for (const asked of this.#asked.values()) asked.end('silent');
    this.#connections?.subscriber.close();
    await this.#connections?.executor.close();
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
    while (holds.length < Math.min(limit, answer.total.holds)) {
      const next = await this.#ask(clientId, { from: holds.length });
      if (typeof next === 'string' || next.holds.length === 0) break;
      holds.push(...next.holds);
    }
    return { ...answer, holds: holds.slice(0, limit) };
  }

  /**
   * Asks every client that has held something, or waited, for some seconds.
   * @param keys - only holds of these
   * @returns `undefined` where the user of the inspector may not ask
   */
  async survey(redis: RedisView, keys: readonly string[]): Promise<Survey | undefined> {
    try {
      const clients = (await redis.listeningClients()).slice(0, MAX_ASKED);
      const answers: ClientAnswer[] = [];
      const silent = new Set<string>();
      await Promise.all(
        clients.map(async (clientId) => {
          const reply = await this.#ask(clientId, { keys: keys.slice(0, PAGE_SIZE) });
          if (reply === 'silent') silent.add(clientId);
          else if (reply !== 'unheard') answers.push(reply);
        }),
      );
      return { answers, silent };
    } catch (error) {
      if (error instanceof CommandError) return undefined;
      throw error;
    }
  }

  async #ask(clientId: string, what: Pick<Question, 'keys' | 'from'>): Promise<Reply> {
    const { executor } = await (this.#opened ??= this.#open());
    const id = String(this.#count++);
    const question: Question = { id, to: this.#channel, ...what };
    const replied = new Promise<Reply>((resolve) => {
      const end = (reply: Reply): void => {
        this.#asked.delete(id);
        resolve(reply);
      };
      const dueAt = performance.now() + ANSWER_MS;
      this.#asked.set(id, { dueAt, end });
      this.#alarm.setBy(dueAt);
    });
    try {
      const receivers = await executor.publish(clientChannel(clientId), JSON.stringify(question));
      // A cluster counts the receivers of one node only.
      if (receivers === 0 && this.#connections?.subscriber.countsReceivers === true)
        this.#asked.get(id)?.end('unheard');
    } catch (error) {
      this.#asked.delete(id);
      throw error;
    }
    return replied;
  }

  async #open(): Promise<Connections> {
    const connections = connect(this.#settings);
    this.#connections = connections;
    connections.subscriber.events = {
      message: (_channel, text) => this.#heard(text),
      interrupted: () => undefined,
      restored: () => undefined,
    };
    try {
      await connections.subscriber.subscribe(this.#channel);
    } catch (error) {
      this.#opened = undefined;
      connections.subscriber.close();
      void connections.executor.close();
      throw error;
    }
    return connections;
  }

  #heard(text: string): void {
    try {
      const answer = JSON.parse(text) as Answer;
      if (Array.isArray(answer.holds) && Array.isArray(answer.waits)) this.#asked.get(answer.id)?.end(answer);
    } catch {
      // Anybody may publish there.
    }
  }

  #expire(): void {
    const now = performance.now();
    let next = Infinity;
    for (const asked of [...this.#asked.values()]) {
      if (asked.dueAt <= now) asked.end('silent');
      else next = Math.min(next, asked.dueAt);
    }
    this.#alarm.set(next);
  }
}
