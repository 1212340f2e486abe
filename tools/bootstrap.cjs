'use strict';
// The launcher behind every npm script. It needs nothing but Node, installs the dependencies when they are missing or
// incomplete, and then runs the real thing: `node tools/bootstrap.cjs <command> [args...]`.
// CommonJS and free of dependencies on purpose: it is what runs before any of them exists.
const { spawnSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const root = path.resolve(__dirname, '..');
const [command, ...args] = process.argv.slice(2);

/** What npm wrote into node_modules last differs from the lock file, or a package of it is not there. */
function missingDependencies() {
  try {
    const wanted = JSON.parse(fs.readFileSync(path.join(root, 'package-lock.json'), 'utf8')).packages;
    const present = JSON.parse(fs.readFileSync(path.join(root, 'node_modules', '.package-lock.json'), 'utf8')).packages;
    return Object.keys(wanted).filter((location) => {
      if (location === '' || wanted[location].optional) return false;
      return (
        present[location]?.version !== wanted[location].version ||
        !fs.existsSync(path.join(root, location, 'package.json'))
      );
    });
  } catch {
    return ['all of them'];
  }
}

/** npm of the Node that runs us: as npm names it, else the one next to Node, else the one on the PATH. */
function npm(npmArgs) {
  const beside = path.join(path.dirname(process.execPath), '..', 'lib', 'node_modules', 'npm', 'bin', 'npm-cli.js');
  const cli = [process.env.npm_execpath, beside].find((file) => file?.endsWith('npm-cli.js') && fs.existsSync(file));
  const options = { cwd: root, stdio: ['ignore', 2, 2], env: { ...process.env, REDISMS_DISABLE_POSTINSTALL: '1' } };
  return cli === undefined
    ? spawnSync('npm', npmArgs, { ...options, shell: process.platform === 'win32' })
    : spawnSync(process.execPath, [cli, ...npmArgs], options);
}

function ensureDependencies() {
  const missing = missingDependencies();
  if (missing.length === 0) return;
  process.stderr.write(`Installing dependencies (npm ci; missing: ${missing.slice(0, 3).join(', ')}) ...\n`);
  const result = npm(['ci', '--no-audit', '--no-fund', '--include=dev', '--ignore-scripts']);
  if (result.status !== 0) {
    process.stderr.write('`npm ci` failed; the dependencies of ioredisson could not be installed.\n');
    process.exit(result.status ?? 1);
  }
}

/** The script of a package's command, so that it runs under this very Node and without a shell. */
function binary(packageName, binName = packageName) {
  const folder = path.join(root, 'node_modules', packageName);
  const { bin } = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
  return path.join(folder, typeof bin === 'string' ? bin : bin[binName]);
}

/** Runs Node with these arguments in the foreground; its end is ours. */
function run(nodeArgs) {
  const child = spawn(process.execPath, nodeArgs, { cwd: root, stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    // A terminal's Ctrl-C reaches the child by itself; a signal sent to us alone has to be passed on.
    process.on(signal, () => child.kill(signal));
  }
  child.on('error', (error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

const register = path.join(root, 'tools', 'register.cjs');
// With the floor of .c8rc.json. Slower than without, so tests have more time.
const UNIT_TESTS = ['test/unit/**/*.test.ts', '--reporter', 'dot', '--timeout', '60000'];
const commands = {
  mocha: () => run([binary('mocha'), ...args]),
  coverage: () => run([binary('c8'), process.execPath, binary('mocha'), ...UNIT_TESTS, ...args]),
  tsc: () => run([binary('typescript', 'tsc'), ...args]),
  eslint: () => run([binary('eslint'), ...args]),
  prettier: () => run([binary('prettier'), ...args]),
  ts: () => run(['--require', register, ...args]),
  clean: () => fs.rmSync(path.join(root, 'dist'), { recursive: true, force: true }),
  build: () => run(['--require', register, path.join('tools', 'buildCommand.ts'), ...args]),
  // Before the queue of tests: else each of its workers would build.
  ensureBuilt: () => run(['--require', register, '--eval', "require('./tools/buildOutput.ts').ensureBuilt()"]),
  redis: () => run(['--require', register, path.join('tools', 'redisCommand.ts'), ...args]),
  checkPackage: () => run(['--require', register, path.join('tools', 'checkPackage.ts'), ...args]),
};

ensureDependencies();
if (command === undefined) process.exit(0);
if (!Object.hasOwn(commands, command)) {
  process.stderr.write(`unknown command: ${command} (known: ${Object.keys(commands).join(', ')})\n`);
  process.exit(64);
}
commands[command]();
