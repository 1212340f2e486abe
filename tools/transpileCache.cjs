'use strict';
// What ts-node makes of a file, kept by the text of the file: loading all of lib takes 4 s of processor time without,
// 0.2 s with it, and tests and examples start many processes.
const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');

const OPTIONS = { transpileOnly: true, project: path.join(__dirname, '..', 'tsconfig.json') };

/** @param folder - of the cache */
function register(folder) {
  const translate = translator(folder);
  require.extensions['.ts'] = function (module, filename) {
    module._compile(translate(fs.readFileSync(filename, 'utf8'), filename), filename);
  };
  process.setSourceMapsEnabled(true);
}

/**
 * Makes JavaScript of the text of a file of this name, or remembers what it has made.
 *
 * @param folder - of the cache
 */
function translator(folder) {
  fs.mkdirSync(folder, { recursive: true });
  const versions = ['ts-node', 'typescript'].map((name) => require(`${name}/package.json`).version);
  const settings = fs.readFileSync(OPTIONS.project, 'utf8');
  let tsNode;
  return (text, filename) => {
    const key = crypto.createHash('sha1').update([filename, ...versions, settings, text].join('\n'));
    const file = path.join(folder, `${key.digest('hex')}.js`);
    let code = readIfThere(file);
    if (code === undefined) {
      tsNode ??= require('ts-node').create(OPTIONS);
      code = tsNode.compile(text, filename);
      // Others may read or write the same file meanwhile.
      const own = `${file}.${process.pid}`;
      fs.writeFileSync(own, code);
      fs.renameSync(own, file);
    }
    return code;
  };
}

function readIfThere(file) {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

// In node_modules, so that `npm ci` empties it.
const FOLDER =
  process.env.IOREDISSON_TEST_TRANSPILED || path.join(__dirname, '..', 'node_modules', '.cache', 'transpiled');

module.exports = { FOLDER, register, translator };
