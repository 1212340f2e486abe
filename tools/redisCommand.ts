import { findRedisServer } from './redisBinary';

// `node tools/bootstrap.cjs redis`: finds or installs a server, and says which.
findRedisServer().then(
  (binary) => process.stdout.write(`${binary}\n`),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  },
);
