'use strict';
// TypeScript as ts-node does it without types, but each text only once: `npm run test:matrix` starts mocha many times,
// and most of the start is this. What is in the cache is found by the text of the file.
const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');

/** @param folder - of the cache */
function register(folder) {
  fs.mkdirSync(folder, { recursive: true });
  let translate;
  require.extensions['.ts'] = function (module, filename) {
    const text = fs.readFileSync(filename, 'utf8');
    const file = path.join(folder, `${crypto.createHash('sha1').update(`${filename}\n${text}`).digest('hex')}.js`);
    let code = readIfThere(file);
    if (code === undefined) {
      code = (translate ??= translator())(text, filename);
      // Others may read or write the same file meanwhile.
      const own = `${file}.${process.pid}`;
      fs.writeFileSync(own, code);
      fs.renameSync(own, file);
    }
    module._compile(code, filename);
  };
  process.setSourceMapsEnabled(true);
}

function readIfThere(file) {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function translator() {
  const ts = require('typescript');
  const options = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.Node20, esModuleInterop: true };
  const compilerOptions = { ...options, inlineSourceMap: true, inlineSources: false };
  return (text, fileName) => ts.transpileModule(text, { fileName, compilerOptions }).outputText;
}

module.exports = { register };
