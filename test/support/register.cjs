'use strict';
// TypeScript for mocha, the demo and the bench: transpiled only. Types are checked by `npm run check`.
require('ts-node').register({
  transpileOnly: true,
  project: require('path').join(__dirname, '..', '..', 'tsconfig.json'),
});
