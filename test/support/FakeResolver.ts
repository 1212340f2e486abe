import type * as dnsModule from 'node:dns';
import { createRequire } from 'node:module';
import { isIPv6 } from 'node:net';
import * as sinon from 'sinon';

// What `require` gives to everybody: an import may be a copy of it.
const dns = createRequire(__filename)('node:dns') as typeof dnsModule;

type Answer = (error: Error | null, found: unknown, family?: number) => void;

/** Answers for names of a test what a DNS server would. Whatever it does not know is looked up as ever. */
export class FakeResolver {
  readonly #names = new Map<string, readonly string[]>();
  /** The names that were looked up, in order. */
  readonly asked: string[] = [];

  /** Until the end of the test (leaks.ts). */
  constructor() {
    const real = dns.lookup;
    const lookup = (name: string, options: dnsModule.LookupOptions, done: Answer): void => {
      const addresses = this.#names.get(name);
      if (addresses === undefined) return real(name, options, done as never);
      this.asked.push(name);
      const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
      process.nextTick(() => {
        if (options.all === true) done(null, found);
        else done(null, found[0]!.address, found[0]!.family);
      });
    };
    sinon.replace(dns, 'lookup', lookup as never);
  }

  /** From now on a name has these addresses, in this order. */
  set(name: string, ...addresses: string[]): void {
    this.#names.set(name, addresses);
  }
}
