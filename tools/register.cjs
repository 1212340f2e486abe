'use strict';
// TypeScript for mocha, the demo and the bench: transpiled only. Types are checked by `npm run check`.
const path = require('path');

const LUA_COMPILER = path.join(__dirname, 'luaCompiler.ts');
const THREAD_FILE = path.join(__dirname, 'threadFile.ts');
const WORKER_FILE = path.join('lib', 'watchdogThread', 'workerFile.ts');
const COMPILED_SCRIPTS = path.join('lib', 'testing', 'store', 'compiledScripts.ts');
const PAGE = path.join('lib', 'operators', 'dashboard', 'page.ts');

const { FOLDER, register } = require('./transpileCache.cjs');
register(FOLDER);

// The page of the dashboard is built; who runs the sources gets what its sources make now.
// The file of the watchdog thread and the scripts of the test client likewise.
const compile = require.extensions['.ts'];
require.extensions['.ts'] = function (module, filename) {
  if (filename.endsWith(PAGE)) {
    module._compile(`exports.page = ${JSON.stringify(require('./dashboard/buildPage.ts').buildPage())};`, filename);
  } else if (filename.endsWith(WORKER_FILE)) {
    module._compile(
      `exports.__esModule = true; exports.workerFile = () => require(${JSON.stringify(THREAD_FILE)}).threadFile();`,
      filename,
    );
  } else if (filename.endsWith(COMPILED_SCRIPTS)) {
    module._compile(`exports.compiledScripts = require(${JSON.stringify(LUA_COMPILER)}).compiledInPlace;`, filename);
  } else compile(module, filename);
};

require('./otherIoredis.cjs');
