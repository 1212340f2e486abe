'use strict';
// TypeScript for mocha, the demo and the bench: transpiled only. Types are checked by `npm run check`.
const path = require('path');

const THREAD_FILE = path.join(__dirname, 'threadFile.ts');
const WORKER_FILE = path.join('lib', 'watchdogThread', 'workerFile.ts');
const PAGE_HTML = path.join('lib', 'dashboard', 'pageHtml.ts');

const cache = process.env.IOREDISSON_TEST_TRANSPILED;
if (cache) require('./transpileCache.cjs').register(cache);
else {
  require('ts-node').register({
    transpileOnly: true,
    project: path.join(__dirname, '..', 'tsconfig.json'),
  });
}

// The page of the dashboard is built; who runs the sources gets what its sources make now.
// The file of the watchdog thread likewise.
const compile = require.extensions['.ts'];
require.extensions['.ts'] = function (module, filename) {
  if (filename.endsWith(PAGE_HTML)) {
    module._compile(
      `exports.PAGE_HTML = ${JSON.stringify(require('./dashboard/buildPage.ts').buildPage())};`,
      filename,
    );
  } else if (filename.endsWith(WORKER_FILE)) {
    module._compile(
      `exports.__esModule = true; exports.workerFile = () => require(${JSON.stringify(THREAD_FILE)}).threadFile();`,
      filename,
    );
  } else compile(module, filename);
};

require('./otherIoredis.cjs');
