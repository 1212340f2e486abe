import { build, type Metafile, type Plugin, transform } from 'esbuild';
import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import * as path from 'node:path';
import { ALL_KINDS, scriptsOf } from '../lib/kinds/allKinds';
import { shortened } from '../lib/scripts/Script';
import { writeLicences } from './buildLicences';
import { projectRoot } from './buildOutput';
import { buildPage, pageInputs } from './dashboard/buildPage';
import { entryPoints } from './entryPoints';
import { compileLua } from './luaCompiler';
import type { AnyScript } from './scripts';

const lib = path.join(projectRoot, 'lib');

const COMMON = {
  absWorkingDir: projectRoot,
  bundle: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  target: 'node20',
  charset: 'utf8',
  legalComments: 'none',
  logLevel: 'warning',
} as const;

/** The file that the watchdog thread runs. */
const WATCHDOG_THREAD = 'watchdogThread';

/** What alone needs the main side of that thread. */
const THREAD_STARTER = 'lib/watchdogThread/ThreadStarter.ts';

const DASHBOARD = 'operators/dashboard';

/** In the build for bundlers. */
const P_DEFER = 'p-defer/index.mjs';

/** What is used of the package yaml, once for both builds. */
const YAML = 'yaml/yaml.js';

/** Not exported, but loaded by the command line, or run by a thread: they share the library's modules. */
const INTERNAL_ENTRIES = ['operators/doctor', WATCHDOG_THREAD];

/** The entry points of lib/ that are files of their own in dist/: '' and the folders of the subpaths. */
export function libraryEntries(): string[] {
  return [...new Set([...entryPoints().map(({ folder }) => folder), ...INTERNAL_ENTRIES])];
}

/**
 * The library as JavaScript, twice.
 *
 * - `dist/**.js`, CommonJS, is what Node loads, by `require` and by `import`: there is one copy of it in a process, so
 *   that `instanceof` and thread scopes hold. It is a file for each entry point and what they share (`chunks/`): a
 *   hundred modules would take several times as long to load.
 * - `dist/esm/**.mjs` is for bundlers, which take it by the condition `module` for `import` and `require` alike, so
 *   that there is one copy in a bundle, too. Here each module is a file, so that they can leave out those without use.
 */
export async function writeLibrary(folder: string): Promise<void> {
  const modules = await writeCommonJs(folder);
  await writeModules(path.join(folder, 'esm'), modules);
  writeDeferred(path.join(folder, 'esm'));
  await writeYaml(path.join(folder, YAML));
  write(path.join(folder, DASHBOARD, 'page.js'), `module.exports = ${JSON.stringify(buildPage())};\n`);
  writeLicences(path.join(folder, DASHBOARD), pageInputs());
  await writeTestScripts(path.join(folder, 'testing'));
}

/** @returns those of its source files that users can import */
async function writeCommonJs(folder: string): Promise<string[]> {
  // esbuild splits ES modules only; what it made of them is then translated file by file.
  const { outputFiles, metafile } = await build({
    ...COMMON,
    entryPoints: Object.fromEntries(
      libraryEntries().map((entry) => [path.join(entry, 'index'), path.join(lib, entry, 'index.ts')]),
    ),
    outdir: folder,
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    metafile: true,
    write: false,
    plugins: [dashboardPageAt('./page.js'), testScriptsAt('./scripts.js'), yamlBeside, shortLua],
  });
  refuseCircles(metafile.outputs);
  for (const file of outputFiles) {
    const common = { platform: 'node', target: 'node20', charset: 'utf8' } as const;
    const { code } = await transform(withPlainValues(file.text), { ...common, format: 'cjs' });
    const here = path.dirname(file.path);
    const thread = path.relative(here, path.join(folder, WATCHDOG_THREAD, 'index.js'));
    const named = withOwnNames(code)
      // In CommonJS there is a real `require`, and its own modules need no copy of their names.
      .replaceAll('__require(', 'require(')
      .replaceAll(/__toESM\((require\("node:[^"]+"\))\)/g, '$1')
      .replaceAll(JSON.stringify(YAML), JSON.stringify(`./${path.posix.relative(here, path.join(folder, YAML))}`))
      .replaceAll('WATCHDOG_THREAD_FILE', JSON.stringify(thread));
    // Without a format it is a script to esbuild: names that stand outside functions, those of classes, stay.
    const short = await transform(named, { ...common, minify: true, lineLimit: 120 });
    write(file.path, short.code);
  }
  return reachable(metafile.inputs);
}

/**
 * What the files give each other, as plain values. esbuild would make a getter for each name, which runs at each use:
 * forty times for a lock and its wake-up.
 */
function withPlainValues(text: string): string {
  return (
    text
      // Files of which nothing is used here: no module of the library does anything but define.
      .replace(/^import "\.[^"]+";\n/gm, '')
      .replace(
        /^import \{([^}]*)\} from ("\.[^"]+");$/gm,
        (_, names: string, file: string) => `const {${names.replaceAll(' as ', ': ')}} = require(${file});`,
      )
      .replace(/^export \{([^}]*)\};$/m, (_, names: string) => {
        const values = names.replaceAll(/(\w+) as (\w+)/g, '$2: $1');
        return `module.exports = {${values}};`;
      })
  );
}

/** A value is there as soon as its file has run: of two files that need each other, one would get nothing. */
function refuseCircles(outputs: Metafile['outputs']): void {
  const visit = (file: string, around: readonly string[]): void => {
    if (around.includes(file))
      throw new Error(`files of the library need each other: ${[...around, file].join(' -> ')}`);
    for (const one of outputs[file]?.imports ?? []) if (one.external !== true) visit(one.path, [...around, file]);
  };
  for (const file of Object.keys(outputs)) visit(file, []);
}

/**
 * A class that refers to itself is `var X = class _X` to esbuild, and logs would show that name, or a shortened one.
 */
function withOwnNames(code: string): string {
  const names = new Map([...code.matchAll(/\bvar (\w+) = class (_\1)\b/g)].map(([, name, inner]) => [inner!, name!]));
  return code.replace(/\bvar (\w+) = class _\1\b/g, 'class $1').replace(/\b_\w+\b/g, (word) => names.get(word) ?? word);
}

/** The source files that users can import: what only the command line loads is nothing for bundlers. */
function reachable(inputs: Metafile['inputs']): string[] {
  const found = new Set<string>();
  const add = (file: string): void => {
    if (found.has(file) || !file.startsWith('lib/')) return;
    found.add(file);
    if (file !== THREAD_STARTER) for (const { path: imported } of inputs[file]!.imports) add(imported);
  };
  for (const { folder } of entryPoints()) add(path.posix.join('lib', folder, 'index.ts'));
  return [...found];
}

/** Comments and indentation of Lua are part of a text, and no minifier removes them. */
const shortLua: Plugin = {
  name: 'short Lua',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]lib[\\/].*\.ts$/ }, ({ path: file }) => {
      const text = fs.readFileSync(file, 'utf8');
      return { contents: text.replaceAll(/\blua`[^`]*`/g, shortened), loader: 'ts' };
    });
  },
};

async function writeModules(folder: string, sources: readonly string[]): Promise<void> {
  const { outputFiles } = await build({
    ...COMMON,
    entryPoints: [...sources],
    outbase: lib,
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    write: false,
    plugins: [
      testScriptsAt('../../../testing/scripts.js'),
      dashboardPageAt(`../../../${DASHBOARD}/page.js`),
      modulesApart,
      modulesForBundlers,
      shortLua,
    ],
  });
  for (const { path: file, text } of outputFiles) {
    // Without its imports and exports it is a script to esbuild, as above: the names of classes stay.
    const linking = /^(?:import|export) (?:[^;`]* from )?(?:"[^"]+"|\{[^}]*\});\n/gm;
    const body = withOwnNames(text.replaceAll(linking, ''));
    const { code } = await transform(body, { platform: 'node', target: 'node20', charset: 'utf8', minify: true });
    write(file, [...(text.match(linking) ?? []), code].join(''));
  }
}

/** Leaves imports of the library's own modules as they are, with the ending that ES modules have. */
const modulesApart: Plugin = {
  name: 'modules apart',
  setup({ onResolve }) {
    onResolve({ filter: /^\./ }, ({ path: specifier, resolveDir, kind }) => {
      if (kind === 'entry-point') return undefined;
      const isFolder = fs.existsSync(path.join(resolveDir, specifier, 'index.ts'));
      const target = isFolder ? path.posix.join(specifier, 'index') : specifier;
      return {
        path: /\.js$/.test(target) ? target : `${target.startsWith('.') ? target : `./${target}`}.mjs`,
        external: true,
        sideEffects: false,
      };
    });
  },
};

/** In place of {@link THREAD_STARTER}: a bundle has no file for a thread to run. */
const NO_THREAD = `
  import { ConfigError } from '../errors';
  export class ThreadStarter {
    maxStallMs = 0;
    constructor({ watchdogThread }) {
      if (watchdogThread) this.check();
    }
    check() {
      throw new ConfigError(
        'watchdogThread does not work in a bundle, which has no file for a thread. Let the bundler leave ioredisson out ' +
          '(as an external package), or leave watchdogThread off.',
      );
    }
    use() {}
  }`;

/**
 * Modules that use `require`, which an ES module has not: a bundler is given an import that it can follow. That of yaml
 * leads to the copy in the package. The one that Node would load requires Node's own modules: esbuild makes a bundle of
 * it that stops at its first line (D10).
 */
const modulesForBundlers: Plugin = {
  name: 'modules for bundlers',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^p-defer$/ }, ({ resolveDir }) => ({
      path: path.posix.join(path.posix.relative(resolveDir, lib), P_DEFER),
      external: true,
      sideEffects: false,
    }));
    onLoad({ filter: /[\\/]config[\\/]parse[\\/]yamlLibrary\.ts$/ }, () => ({
      contents: `import yaml from '../../../${YAML}'; export const yamlLibrary = () => yaml;`,
      loader: 'js',
    }));
    onLoad({ filter: /[\\/]ThreadStarter\.ts$/ }, () => ({ contents: NO_THREAD, loader: 'ts' }));
    onLoad({ filter: /[\\/]fastify[\\/]pluginLibrary\.ts$/ }, () => ({
      contents:
        "import { fastifyPlugin } from 'fastify-plugin'; export function pluginLibrary() { return { fastifyPlugin }; }",
      loader: 'ts',
    }));
    onLoad({ filter: /[\\/]frameworks[\\/]needPeer\.ts$/ }, () => ({
      contents: 'export function needPeer() {}',
      loader: 'ts',
    }));
  },
};

/**
 * Of its build for browsers, which is made of ES modules: what nobody uses is left out, and it needs nothing of Node.
 * Not with a `lineLimit`, here and in the scripts of the test client: esbuild breaks strings, and Rollup indents the
 * second line.
 */
async function writeYaml(file: string): Promise<void> {
  const manifest = createRequire(__filename).resolve('yaml/package.json');
  const { outputFiles, metafile } = await build({
    ...COMMON,
    entryPoints: [path.join(lib, 'config', 'parse', 'yaml.ts')],
    packages: 'bundle',
    platform: 'neutral',
    alias: { yaml: path.join(path.dirname(manifest), 'browser', 'index.js') },
    metafile: true,
    write: false,
  });
  const { code } = await transform(withPlainValues(outputFiles[0]!.text), { format: 'cjs', minify: true });
  write(file, code);
  writeLicences(path.dirname(file), Object.keys(metafile.inputs));
}

/** As an ES module: one of CommonJS would bring a bundler's helpers for it into every bundle. */
function writeDeferred(folder: string): void {
  const source = path.relative(projectRoot, createRequire(__filename).resolve('p-defer'));
  const text = fs.readFileSync(path.join(projectRoot, source), 'utf8');
  const code = text.replace("'use strict';", '').replace('module.exports =', 'export default');
  if (!code.includes('export default')) throw new Error('p-defer has changed: make an ES module of it in another way');
  write(path.join(folder, P_DEFER), code.trimStart());
  writeLicences(path.dirname(path.join(folder, P_DEFER)), [source]);
}

/** It is loaded when a configuration is read, and not with the library. */
const yamlBeside: Plugin = {
  name: 'yaml beside',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/yaml$/ }, () => ({ path: YAML, external: true }));
  },
};

/**
 * The scripts that `ioredisson/testing` runs are beside `testing/index.js`, once, for both builds, as JavaScript: the
 * compiler and the parser of Lua are no part of the package.
 *
 * @param target - where they are from there
 */
function testScriptsAt(target: string): Plugin {
  return {
    name: 'scripts of the test client beside',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /[\\/]scripts\.js$/ }, () => ({ path: target, external: true }));
      onLoad({ filter: /[\\/]compiledScripts\.ts$/ }, () => ({
        contents: `
          import make from '${target}';
          export const compiledScripts = (...parts) => {
            const scripts = make(...parts);
            return (text, sha) => scripts[sha];
          };`,
        loader: 'js',
      }));
    },
  };
}

async function writeTestScripts(folder: string): Promise<void> {
  const scripts = ALL_KINDS.flatMap((kind) => scriptsOf(kind) as readonly AnyScript[]);
  // Some kinds share a script, and some have the same text under two names.
  const source = `module.exports = ${compileLua(new Map(scripts.map(({ sha, lua }) => [sha, lua])))};`;
  const { code } = await transform(source, { minify: true, target: 'node20' });
  write(path.join(folder, 'scripts.js'), code);
}

/**
 * The page of the dashboard, which is built of sources of its own, is beside `dashboard/index.js`, once, for both
 * builds.
 *
 * @param target - where it is from there
 */
function dashboardPageAt(target: string): Plugin {
  return {
    name: 'dashboard page beside',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /[\\/]page\.js$/ }, () => ({ path: target, external: true }));
      onLoad({ filter: /[\\/]dashboard[\\/]page\.ts$/ }, () => ({
        contents: `import page from '${target}'; export { page };`,
        loader: 'js',
      }));
    },
  };
}

function write(file: string, text: string): void {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text);
}
