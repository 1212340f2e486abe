import { createRequire } from 'node:module';
import { expect } from 'chai';
import { PURGE } from '../../lib/kinds/permit';
import { allScripts, type AnyScript } from '../../tools/scripts';

const load = createRequire(require.resolve('ioredis'));
const { exists, hasFlag } = load('@ioredis/commands') as Record<'exists' | 'hasFlag', (...args: string[]) => boolean>;

/** What says whose call it is. */
const WHOSE = ['owner', 'heir', 'id', 'ids'];

/** The commands of a script that write, and calls of a command that its text does not name. */
function writesOf({ body }: AnyScript): string[] {
  // Which permits have expired, the data and the server's clock say: anybody may remove them, and as often as they
  // like.
  const own = body.replace(PURGE, '');
  // The inspector's `ask(command)` calls what it is given.
  const calls = own.replace('redis.pcall(command, key, ...)', '').matchAll(/\b(?:redis\.p?call|ask)\(\s*([^,)\s]+)/g);
  return [...calls]
    .map(([, command]) => command!)
    .filter((command) => command !== 'command')
    .filter((command) => {
      const name = /^'([a-z]+)'$/.exec(command)?.[1];
      return name === undefined || !exists(name) || hasFlag(name, 'write');
    });
}

describe('a script that may be sent again', () => {
  const scripts = allScripts();

  it('says whose call it is, or writes nothing: others may have changed everything since the first copy', () => {
    const advice = scripts
      .filter(({ resend, args, more }) => resend !== 'never' && ![...args, more].some((one) => WHOSE.includes(one)))
      .flatMap((script) => {
        const writes = [...new Set(writesOf(script))].join(', ');
        if (writes === '') return [];
        return `'${script.name}' writes (${writes}) for nobody in particular: let its resend be 'never'`;
      });
    expect(advice).to.deep.equal([]);
  });

  it('is one of some that write, and of some that do not', () => {
    const [writing, reading] = [true, false].map((writes) =>
      scripts.filter((script) => script.resend !== 'never' && writesOf(script).length > 0 === writes),
    );
    expect(writing!.map(({ name }) => name)).to.include.members(['lock.release', 'permitExpirableSemaphore.release']);
    expect(reading!.map(({ name }) => name)).to.include.members(['lock.find', 'inspection.peek']);
  });
});
