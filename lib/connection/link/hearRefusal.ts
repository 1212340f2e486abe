import * as net from 'node:net';
import { runOutside } from '../../util/outside';

/** A server that turns us away says so at once; one that waits for us to speak has nothing to say. */
const LISTEN_MS = 250;

/**
 * Connects to a server and listens, without a word of our own. A server that has no room for another client, or that
 * takes none from another host, says why and closes. Where we have sent something by then, the kernel resets the
 * connection, and what it said is lost.
 *
 * @param done - called once with what it said, '' for nothing; not after the returned function has been called
 * @returns ends it
 */
export function hearRefusal(address: net.NetConnectOpts, done: (text: string) => void): () => void {
  return runOutside(() => {
    let text = '';
    const socket = net.connect(address);
    const timer = setTimeout(() => socket.destroy(), LISTEN_MS).unref();
    socket.setEncoding('latin1').on('data', (data: string) => (text += data));
    socket.on('error', () => undefined);
    const closed = (): void => {
      clearTimeout(timer);
      done(text);
    };
    socket.once('close', closed).unref();
    return () => {
      socket.off('close', closed).destroy();
      clearTimeout(timer);
    };
  });
}
