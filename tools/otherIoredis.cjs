'use strict';
// Another version of ioredis than that of the checkout (`npm run test:matrix`, test/apm), for everybody who asks for
// it.
const ioredis = process.env.IOREDISSON_TEST_IOREDIS;
if (ioredis) {
  const Module = require('module');
  const resolve = Module._resolveFilename;
  Module._resolveFilename = function (request, ...more) {
    const wanted = request === 'ioredis' || request.startsWith('ioredis/');
    return resolve.call(this, wanted ? ioredis + request.slice('ioredis'.length) : request, ...more);
  };
}
