import { randomUUID } from 'node:crypto';
import type { Settings } from '../../config/Settings';
import { connect, type Connections } from '../../connection/connect';
import { CommandError } from '../../errors';
import {
  type Answer,
  answerChannel,
  type ClientAnswer,
  clientChannel,
  PAGE_SIZE,
  type Question,
} from '../../introspection/wire';
import { addTo } from '../../util/collections';
import { Alarm } from '../../util/Alarm';
import { readAnswer } from './readAnswer';
import type { RedisView } from './RedisView';

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

/** A key to ask about, and which clients have it, as far as Redis tells. */
export interface AskedKey {
  readonly key: string;
  /** The ids of the clients; `undefined`: any may. */
  readonly of: readonly string[] | undefined;
}

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

interface Asked {
  readonly clientId: string;
  stepsLeft: number;
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
  /** Those of the last survey. */
  #silent: ReadonlyMap<string, number> = new Map();
  readonly #alarm = new Alarm(() => this.#step(), true);
  #opened: Promise<Connections> | undefined;
  #connections: Connections | undefined;

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
   * Asks every client that has held something, or waited, for some seconds; those that have one of the keys first.
   * @param keys - only holds of these
   * @returns `undefined` where the user of the inspector may not ask
   */
  async survey(redis: RedisView, keys: readonly AskedKey[]): Promise<Survey | undefined> {
    try {
      const listening = await redis.listeningClients();
      const keysOf = new KeysByClient(keys);
      const answers: ClientAnswer[] = [];
      const silent = new Map<string, number>();
      await Promise.all(
        keysOf.holdersFirst(listening, MAX_ASKED).map(async (clientId) => {
          const askedAt = Date.now();
          for (const some of keysOf.questions(clientId)) {
            // A verdict rests on it: one that is only short of CPU gets a second chance.
            const first = await this.#ask(clientId, { keys: some });
            const reply = first === 'silent' ? await this.#ask(clientId, { keys: some }) : first;
            if (reply === 'silent') silent.set(clientId, this.#silent.get(clientId) ?? askedAt);
            if (typeof reply === 'string') return;
            // It says with each answer who waits: once is enough.
            answers.push(answers.some((one) => one.clientId === clientId) ? { ...reply, waits: [] } : reply);
          }
        }),
      );
      this.#silent = silent;
      return { answers, listening: new Set(listening), silent };
    } catch (error) {
      if (error instanceof CommandError) return undefined;
      throw error;
    }
  }

  async #ask(clientId: string, what: Pick<Question, 'keys' | 'from'>): Promise<Reply> {
    const { executor } = await (this.#opened ??= this.#open());
    // Whoever has been asked something else cannot guess it.
    const id = randomUUID();
    const question: Question = { id, to: this.#channel, ...what };
    const replied = new Promise<Reply>((resolve) => {
      const end = (reply: Reply): void => {
        this.#asked.delete(id);
        resolve(reply);
      };
      this.#asked.set(id, { clientId, stepsLeft: ANSWER_STEPS, end });
      this.#alarm.setBy(performance.now() + STEP_MS);
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

  /** Anybody may publish there: only who was asked is believed. */
  #heard(text: string): void {
    const answer = readAnswer(text);
    const asked = answer && this.#asked.get(answer.id);
    if (answer !== undefined && asked?.clientId === answer.clientId) asked.end(answer);
  }

  #step(): void {
    for (const asked of [...this.#asked.values()]) if (asked.stepsLeft-- <= 0) asked.end('silent');
    if (this.#asked.size > 0) this.#alarm.set(performance.now() + STEP_MS);
  }
}

/** Which of some keys each client is asked about. */
class KeysByClient {
  readonly #ofAny: string[] = [];
  readonly #byClient = new Map<string, string[]>();

  constructor(keys: readonly AskedKey[]) {
    for (const { key, of } of keys) {
      if (of === undefined) this.#ofAny.push(key);
      for (const clientId of new Set(of)) addTo(this.#byClient, clientId, key);
    }
  }

  holdersFirst(clientIds: readonly string[], most: number): readonly string[] {
    const [holders, others] = [true, false].map((has) => clientIds.filter((id) => this.#byClient.has(id) === has));
    return [...holders!, ...others!].slice(0, most);
  }

  /** The keys of each question. Without any it is asked, too: who waits? */
  questions(clientId: string): readonly (readonly string[])[] {
    const keys = [...(this.#byClient.get(clientId) ?? []), ...this.#ofAny];
    const pages = Math.min(MAX_QUESTIONS, Math.max(1, Math.ceil(keys.length / PAGE_SIZE)));
    return Array.from({ length: pages }, (_, i) => keys.slice(i * PAGE_SIZE, (i + 1) * PAGE_SIZE));
  }
}
