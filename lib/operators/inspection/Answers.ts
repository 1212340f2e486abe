import type { ClientAnswer, ClientHold } from '../../introspection/wire';
import { PAGE_SIZE } from '../../introspection/wire';
import { chunks } from '../../util/collections';
import { settledWithin } from '../../util/timing';
import type { Asker } from './Asker';
import { hasPermits, type ObjectDraft } from './describe';
import { type RedisView, unlessRefused } from './RedisView';

/** At most this many clients are asked in one survey. */
const MAX_ASKED = 1_000;
/** At most this many questions per client in one survey, each about up to {@link PAGE_SIZE} keys. */
const MAX_QUESTIONS = 10;
/** An answer is reused while it is younger than this, in ms. */
const SERVES_MS = 5_000;
/** A brief survey waits this long for answers, in ms: a client that is well has answered by then. */
const GRACE_MS = 100;
/** What a client has said of a hold is remembered this long, in ms, for when it stops answering. */
const REMEMBERED_MS = 60 * 60_000;

/** The answers of several clients, as of now. */
export interface Survey {
  /** Of a silent client: what it has said of its holds before, without waits. */
  readonly answers: readonly ClientAnswer[];
  /** The ids of all clients that listen for questions. */
  readonly listening: ReadonlySet<string>;
  /**
   * Clients that listen, but twice did not answer within a second. By client id: when they were asked the first
   * question that they did not answer, in ms since 1970.
   */
  readonly silent: ReadonlyMap<string, number>;
}

/** A hold, and when its client has reported it, in ms since 1970. */
type Said = ClientHold & { readonly at: number };

/** What is known of one client. */
interface Known {
  /** Its last answer, and when it came. */
  answer?: ClientAnswer & { readonly at: number };
  /** Its holds as last reported, by key: an answer is about some keys only. */
  readonly holds: Map<string, readonly Said[]>;
  /** The keys that it was asked about since {@link askedAt}, and an empty one. */
  readonly about: Set<string>;
  /** Monotonic. */
  askedAt: number;
  /** Questions under way. */
  asking?: Promise<void> | undefined;
  silentSince?: number | undefined;
}

/**
 * What the clients have said, for all scans of one inspector. Each client is asked by itself: one that is frozen delays
 * what is known of itself, and nothing else.
 */
export class Answers {
  readonly #asker: Asker;
  readonly #redis: RedisView;
  readonly #known = new Map<string, Known>();
  #listening: ReadonlySet<string> = new Set();

  constructor(asker: Asker, redis: RedisView) {
    this.#asker = asker;
    this.#redis = redis;
  }

  /**
   * Asks every client that has held or waited for something for some seconds. Holders of the objects come first.
   * @param objects - report only holds of these. Redis does not store who holds permits: every client may have some
   * @param patience - `anew`: asks all again, and waits for all; `all`: waits for all, but reuses young answers;
   *   `brief`: reuses them, too, and does not wait for clients that take long. A later survey has their answers
   * @returns `undefined` if the inspector's user may not ask
   */
  async survey(objects: readonly ObjectDraft[], patience: 'anew' | 'all' | 'brief'): Promise<Survey | undefined> {
    const listening = await unlessRefused(this.#redis.listeningClients(), undefined);
    if (listening === undefined) return undefined;
    this.#listening = new Set(listening);
    for (const clientId of this.#known.keys()) if (!this.#listening.has(clientId)) this.#known.delete(clientId);
    const ofAny = objects.filter(({ kind }) => hasPermits(kind)).map(({ key }) => key);
    const keysOf = keysByHolder(objects);
    const holdersFirst = [...listening].sort((a, b) => Number(keysOf.has(b)) - Number(keysOf.has(a)));
    let refusal: Error | undefined;
    const asked = holdersFirst.slice(0, MAX_ASKED).map(async (clientId) => {
      const known = this.#knownOf(clientId);
      if (patience === 'brief' && known.asking !== undefined) return;
      await known.asking;
      if (patience === 'anew' || performance.now() - known.askedAt >= SERVES_MS) known.about.clear();
      const isNew = known.about.size === 0;
      const keys = [...(keysOf.get(clientId) ?? []), ...ofAny].filter((key) => !known.about.has(key));
      if (!isNew && keys.length === 0) return;
      if (isNew) known.askedAt = performance.now();
      // A client with none of the keys is asked, too: it reports who waits.
      for (const key of ['', ...keys]) known.about.add(key);
      known.asking = this.#ask(clientId, known, keys)
        .catch((error: unknown) => void (refusal = error as Error))
        .finally(() => (known.asking = undefined));
      await known.asking;
    });
    if (patience === 'brief') await settledWithin(asked, GRACE_MS);
    else await Promise.all(asked);
    // Whoever may not publish or subscribe there cannot ask.
    if (refusal !== undefined) return unlessRefused(Promise.reject(refusal), undefined);
    return this.#surveyNow();
  }

  #knownOf(clientId: string): Known {
    const known = this.#known.get(clientId) ?? {
      holds: new Map<string, Said[]>(),
      about: new Set<string>(),
      askedAt: -Infinity,
    };
    this.#known.set(clientId, known);
    return known;
  }

  async #ask(clientId: string, known: Known, about: readonly string[]): Promise<void> {
    const askedAt = Date.now();
    const questions = chunks(about, PAGE_SIZE).slice(0, MAX_QUESTIONS);
    // A client with none of the keys is asked, too: it reports who waits.
    for (const keys of questions.length === 0 ? [[]] : questions) {
      // A verdict depends on this: ask again, in case the client is only short of CPU.
      const first = await this.#asker.ask(clientId, { keys });
      const reply = first === 'silent' ? await this.#asker.ask(clientId, { keys }) : first;
      if (reply === 'silent') known.silentSince ??= askedAt;
      else known.silentSince = undefined;
      if (typeof reply === 'string') return;
      const at = Date.now();
      known.answer = { ...reply, at };
      for (const key of keys) known.holds.delete(key);
      for (const [key, holds] of known.holds) if (holds[0]!.at < at - REMEMBERED_MS) known.holds.delete(key);
      for (const hold of reply.holds) {
        known.holds.set(hold.key, [...(known.holds.get(hold.key) ?? []), { ...hold, at }]);
      }
    }
  }

  #surveyNow(): Survey {
    const now = Date.now();
    const answers: ClientAnswer[] = [];
    const silent = new Map<string, number>();
    for (const [clientId, { answer, holds, silentSince }] of this.#known) {
      if (silentSince !== undefined) silent.set(clientId, silentSince);
      if (answer === undefined) continue;
      const { at, ...said } = answer;
      const waits = silentSince !== undefined ? [] : said.waits;
      answers.push({
        ...said,
        holds: [...holds.values()].flat().map(({ at, ...hold }) => ({ ...hold, heldMs: hold.heldMs + now - at })),
        waits: waits.map((wait) => ({ ...wait, waitedMs: wait.waitedMs + now - at })),
      });
    }
    return { answers, listening: this.#listening, silent };
  }
}

/** The keys of the objects that each client holds. */
function keysByHolder(objects: readonly ObjectDraft[]): ReadonlyMap<string, ReadonlySet<string>> {
  const keysOf = new Map<string, Set<string>>();
  for (const { key, kind, holders } of objects) {
    if (hasPermits(kind)) continue;
    for (const { clientId } of holders) keysOf.set(clientId, (keysOf.get(clientId) ?? new Set()).add(key));
  }
  return keysOf;
}
