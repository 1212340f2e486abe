'use strict';
// Runs modules one after the other in this one process, since starting Node for each takes longer than most of them:
// `node runSnippets.cjs <folder> <file>...`. Writes a line of JSON for each: its name, and its error or null.
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { createRequire } = require('node:module');

const [folder, ...files] = process.argv.slice(2);
const { Redis } = createRequire(path.join(folder, 'x.js'))('ioredis');
const LIMIT_MS = 20_000;
// What snippets print is no part of the answer.
console.log = console.error;

/** What fails beside the snippet: a promise that nobody awaits. */
let stray;
process.on('unhandledRejection', (error) => (stray ??= error));

async function run(file) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`has not ended after ${LIMIT_MS} ms`)), LIMIT_MS);
  });
  try {
    await Promise.race([import(pathToFileURL(path.join(folder, file)).href), late]);
    return stray ?? null;
  } catch (error) {
    return error;
  } finally {
    clearTimeout(timer);
    stray = undefined;
  }
}

async function main() {
  const redis = new Redis(process.env.REDIS_URL);
  for (const file of files) {
    const error = await run(file);
    process.stdout.write(`${JSON.stringify({ file, error: error && String(error.stack ?? error) })}\n`);
    await redis.flushall();
  }
  redis.disconnect();
  process.exit(0);
}

void main();
