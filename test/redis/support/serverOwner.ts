import { RedisServer } from '../../support';

// Starts a server, tells its process id, and ends as it is told, without stopping the server.
void RedisServer.start().then((server) => {
  process.stdout.write(`${server.pid}\n`);
  if (process.argv[2] === 'throw') {
    setTimeout(() => {
      throw new Error('on purpose');
    }, 50);
  }
  setInterval(() => undefined, 1000);
});
