import { once } from 'node:events';
import { connect as connectPlain } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Settings } from '../../config/Settings';
import { inTime } from '../../util/timing';

/** Time limit for trying the other protocol, in ms. */
const TRY_MS = 1_500;

/**
 * The advice if the server speaks the other protocol: TLS where we used none, or the reverse.
 * @returns `undefined` if it does not, or if there are several servers
 */
export async function tlsHint({ topology, tls }: Settings): Promise<string | undefined> {
  if (topology.kind !== 'single') return undefined;
  const { host, port } = topology.address;
  if (tls === undefined) {
    // This only tests for TLS and sends no data, so the certificate need not be trusted.
    const socket = connectTls({ host, port, rejectUnauthorized: false });
    const speaks = await tryOn(socket, () => once(socket, 'secureConnect').then(() => true));
    return speaks ? 'the server speaks TLS: use rediss:// instead of redis://' : undefined;
  }
  const socket = connectPlain({ host, port });
  const speaks = await tryOn(socket, async () => {
    await once(socket, 'connect');
    socket.write('PING\r\n');
    const [reply] = (await once(socket, 'data')) as [Buffer];
    return /^[+-]/.test(reply.toString('latin1'));
  });
  return speaks ? 'the server does not speak TLS: use redis:// instead of rediss://' : undefined;
}

async function tryOn(socket: { destroy(): void }, act: () => Promise<boolean>): Promise<boolean> {
  const found = await inTime(act(), TRY_MS).catch(() => undefined);
  socket.destroy();
  return found?.value ?? false;
}
