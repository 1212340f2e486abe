import * as http from 'node:http';
import type { AddressInfo } from 'node:net';

/** Serves requests. @returns the address, without a slash at its end, and what ends it */
export async function listen(listener: http.RequestListener): Promise<{ base: string; close(): Promise<void> }> {
  const server = http.createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
