import { RedisServer } from '../../support';

// Starts a server, tells its process id, and ends as it is told, without stopping the server.
void RedisServer.start().then((server) => {
  process.stdout.write(`${server.pid}\n`);
  if (process.argv[2] === 'throw') {
    process.stdin.resume().once('end', () => {
      throw new Error('on purpose');
    });
  }
  setInterval(() => undefined, 1000);
});
