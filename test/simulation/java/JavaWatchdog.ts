/** The threads of one client that hold one lock, with how many holds each, and who they are for the server. */
type Threads = Map<string, number>;

/** Which locks of one kind a Java client renews: every third of the lease after the last time. */
export class JavaWatchdog {
  readonly #names = new Map<string, Threads>();
  readonly #leaseMs: number;
  readonly #renew: (name: string, owners: readonly string[]) => Promise<boolean>;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  /** @param renew - sends it, and says whether any of them is still known */
  constructor(leaseMs: number, renew: (name: string, owners: readonly string[]) => Promise<boolean>) {
    this.#leaseMs = leaseMs;
    this.#renew = renew;
  }

  add(name: string, owner: string): void {
    let threads = this.#names.get(name);
    if (threads === undefined) this.#names.set(name, (threads = new Map<string, number>()));
    threads.set(owner, (threads.get(owner) ?? 0) + 1);
    this.#arm();
  }

  /** A hold is given back, or was to be. */
  remove(name: string, owner: string): void {
    const threads = this.#names.get(name);
    const left = (threads?.get(owner) ?? 0) - 1;
    if (left > 0) threads!.set(owner, left);
    else threads?.delete(owner);
    if (threads?.size === 0) this.#names.delete(name);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #arm(): void {
    if (this.#timer !== undefined || this.#closed) return;
    this.#timer = setTimeout(() => void this.#round(), this.#leaseMs / 3);
  }

  async #round(): Promise<void> {
    for (const [name, threads] of [...this.#names]) {
      try {
        const owners = [...threads.keys()];
        if (await this.#renew(name, owners)) continue;
        for (const owner of owners) threads.delete(owner);
        if (threads.size === 0 && this.#names.get(name) === threads) this.#names.delete(name);
      } catch {
        // The next round tries again.
      }
    }
    this.#timer = undefined;
    if (this.#names.size > 0) this.#arm();
  }
}
