import * as net from 'node:net';

describe('a file that leaves the process alive', () => {
  after(() => void net.createServer().listen(0, '127.0.0.1'));
  it('passes', () => undefined);
});
