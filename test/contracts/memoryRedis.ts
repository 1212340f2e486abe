import type { Redis } from 'ioredis';
import { fromBytes, toBytes } from '../../lib/testing/bytes';
import type { MemoryServer } from '../../lib/testing/MemoryServer';
import { RedisError, type Reply, Status } from '../../lib/testing/store/replies';

type Answer = (args: string[]) => unknown;

/** What the contracts ask a bare connection, of a store in memory. */
export function memoryRedis(server: MemoryServer): Redis {
  const run = (command: string, args: readonly string[]): unknown => {
    const reply = server.run(command, args.map(toBytes));
    if (reply instanceof RedisError) throw reply;
    return plain(reply);
  };
  const keys = (pattern: string): string[] => server.keys.map(fromBytes).filter(globbed(pattern));
  const answers: Readonly<Record<string, Answer>> = {
    keys: ([pattern = '*']) => keys(pattern),
    pubsub: ([what, name = '*']) =>
      what === 'CHANNELS' ? server.channels.filter(globbed(name)) : [name, server.listeners(name)],
    hgetall([key = '']) {
      const flat = run('hgetall', [key]) as string[];
      return Object.fromEntries(flat.flatMap((field, i) => (i % 2 === 0 ? [[field, flat[i + 1]]] : [])));
    },
    getdel([key = '']) {
      const value = run('get', [key]);
      run('del', [key]);
      return value;
    },
    call: ([command = '', ...args]) => run(command, args),
  };
  return new Proxy({} as Redis, {
    get: (_target, name) => {
      if (typeof name !== 'string' || name === 'then') return undefined;
      return (...args: unknown[]) =>
        Promise.resolve().then(() => {
          const words = args.flat().map(String);
          return answers[name] === undefined ? run(name, words) : answers[name](words);
        });
    },
  });
}

function globbed(pattern: string): (text: string) => boolean {
  const parts = pattern.split('*');
  return (text) => {
    let at = 0;
    for (const [i, part] of parts.entries()) {
      const found = text.indexOf(part, at);
      if (found < 0 || (i === 0 && found !== 0)) return false;
      at = found + part.length;
    }
    return pattern.endsWith('*') || at === text.length;
  };
}

function plain(reply: Reply): unknown {
  if (typeof reply === 'string') return fromBytes(reply);
  if (reply instanceof Status) return reply.text;
  return Array.isArray(reply) ? (reply as Reply[]).map(plain) : reply;
}
