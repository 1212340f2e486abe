import * as readline from 'node:readline';
import type { DriverRequest } from '../Transport';
import { NodeDriver } from './NodeDriver';

// This package in a process of its own, on the pipe protocol of the Java driver. It ends with its stdin.
const driver = new NodeDriver();
readline
  .createInterface({ input: process.stdin })
  .on('line', (line) => {
    void driver
      .request(JSON.parse(line) as DriverRequest)
      .then((reply) => process.stdout.write(`${JSON.stringify(reply)}\n`));
  })
  .on('close', () => process.exit(0));
