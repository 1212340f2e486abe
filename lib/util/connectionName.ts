import { hostname } from 'node:os';

/**
 * The name of the connections of a client, unless the user has set one.
 *
 * @param id - the client id, with which owner names in Redis begin, so that an owner can be traced to its process; or
 *   what the connection is for
 */
export function connectionName(id: string): string {
  return `ioredisson:${id}:${hostname().replace(/[^!-~]/g, '_')}:${process.pid}`;
}
