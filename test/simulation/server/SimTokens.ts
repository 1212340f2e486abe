import type { Credentials, StreamingCredentialsListener } from '../../../lib/config/Credentials';
import type { Loop } from '../engine/Loop';

/** What the tokens of a world are like. */
export interface TokenProfile {
  /** For how long a token lets in, and a connection stays that it let in, in ms. */
  readonly lifetimeMs: number;
  /** Whether clients are told of new tokens, and do not ask. */
  readonly streaming: boolean;
  /** Mean time between two moments at which all earlier tokens let in nobody any more, in ms. @default never */
  readonly revokedEveryMs?: number;
  /** Whether faults revoke all tokens and throw out whom they let in. @default false */
  readonly evicts?: boolean;
}

/** How a provider of tokens fails. */
export type TokenTrouble = 'rejects' | 'hangs' | 'nonsense' | 'stale';

/** A provider answers in so many ms. */
const ANSWER_MS = 20;
/** A provider that tells by itself tells when this part of the time of a token is over. */
const TELL_PART = 0.6;
/** A provider that tells by itself tries again after so many ms. */
const AGAIN_MS = 300;

/** Who gives tokens to the clients of a world, and which of them let in. */
export class SimTokens {
  /** Told of a connection that ended since its login was over. */
  expired: (process: string, server: string) => void = () => undefined;
  /** How many live connections were logged in again. */
  renewed = 0;
  readonly #loop: Loop;
  readonly profile: TokenProfile;
  readonly #validUntil = new Map<string, number>();
  readonly #told = new Set<() => void>();
  #trouble: { readonly what: TokenTrouble; readonly until: number } | undefined;

  constructor(loop: Loop, profile: TokenProfile) {
    this.#loop = loop;
    this.profile = profile;
    if (profile.revokedEveryMs !== undefined) this.#revokeIn(profile.revokedEveryMs);
  }

  /** Until when a password lets in, in ms of the world; `undefined`: it does not. */
  validUntil(password: string): number | undefined {
    const until = this.#validUntil.get(password);
    return until !== undefined && until > this.#loop.now ? until : undefined;
  }

  /** The provider fails for so many ms. */
  fail(what: TokenTrouble, ms: number): void {
    this.#loop.note(`the provider of tokens ${what} for ${ms.toFixed()} ms`);
    this.#trouble = { what, until: this.#loop.now + ms };
  }

  /** From now on no earlier token lets in; who is in stays. */
  revoke(): void {
    this.#loop.note('all tokens are revoked');
    this.#validUntil.clear();
    for (const tell of [...this.#told]) tell();
  }

  /** What a client is made with. To be called, and used, as code of its process. */
  credentials(): Credentials {
    return this.profile.streaming
      ? { subscribe: (listener) => this.#subscribe(listener) }
      : async () => ({ ...(await this.#give()), expiresIn: this.profile.lifetimeMs });
  }

  #revokeIn(meanMs: number): void {
    this.#loop.after(this.#loop.random.around(meanMs), () => {
      this.revoke();
      this.#revokeIn(meanMs);
    });
  }

  /** @param patient - whether whoever asks would wait for ever */
  async #give(patient = false): Promise<{ username: string; password: string }> {
    const { random } = this.#loop;
    await this.#pause(random.around(ANSWER_MS));
    const { what, until = 0 } = this.#trouble ?? {};
    const password = `token-${random.below(2 ** 32).toString(16)}`;
    if (until > this.#loop.now) {
      if (what === 'rejects') throw new Error('the provider of tokens is out of reach');
      if (what === 'hangs') {
        await (patient ? this.#pause(until - this.#loop.now) : new Promise(() => undefined));
        return this.#give();
      }
      if (what === 'nonsense') return { username: 'app' } as never;
      // One that lets in nobody any more.
      return { username: 'app', password };
    }
    this.#validUntil.set(password, this.#loop.now + this.profile.lifetimeMs);
    return { username: 'app', password };
  }

  /** It takes so long to answer, in ms. That is no timer of whoever asks: it may have closed its client meanwhile. */
  #pause(ms: number): Promise<void> {
    const { current } = this.#loop;
    return new Promise((resolve) => void this.#loop.after(ms, resolve, { process: current, kind: 'provider' }));
  }

  async #subscribe({
    onNext,
    onError,
  }: StreamingCredentialsListener): Promise<[{ username: string; password: string }, { dispose(): void }]> {
    let timer: NodeJS.Timeout | undefined;
    let over = false;
    const tellIn = (ms: number): void => {
      clearTimeout(timer);
      // It may have been disposed of since the tokens were revoked, or by whoever was just told.
      if (!over) timer = setTimeout(() => void tell(), ms);
    };
    const tell = async (): Promise<void> => {
      try {
        const given = await this.#give(true);
        if (over) return;
        onNext(given);
        tellIn(this.profile.lifetimeMs * TELL_PART);
      } catch (error) {
        if (over) return;
        // Some try again by themselves, some give up.
        if (this.#loop.random.chance(50)) tellIn(AGAIN_MS);
        else onError(error as Error);
      }
    };
    const given = await this.#give();
    const { current } = this.#loop;
    const revoked = (): void => {
      this.#loop.after(0, () => tellIn(1), { process: current, kind: 'revoked' });
    };
    this.#told.add(revoked);
    tellIn(this.profile.lifetimeMs * TELL_PART);
    const dispose = (): void => {
      over = true;
      this.#told.delete(revoked);
      clearTimeout(timer);
    };
    return [given, { dispose }];
  }
}
