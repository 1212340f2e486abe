import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as net from 'node:net';
import * as os from 'node:os';
import * as path from 'node:path';
import * as tls from 'node:tls';
import { monotonicNow, sleep } from './realTimers';
import { findRedisServer } from './redisBinary';
import { release, supervise } from './supervisor';

/** How to start a {@link RedisServer}; everything is optional. */
export interface RedisServerOptions {
  /** Default: a free one. */
  readonly port?: number;
  /** More arguments for `redis-server`, after ours, so that they win: `['--maxmemory', '1mb']`. */
  readonly args?: readonly string[];
  /** Lines of a configuration file, for what arguments cannot say (a Sentinel keeps its state in it). */
  readonly config?: readonly string[];
  /** Allows `DEBUG`, which servers refuse since Redis 7 unless they are told otherwise. */
  readonly debug?: true;
  /** `requirepass`. */
  readonly password?: string;
  /** Serve TLS on the port instead of plain TCP. Paths of PEM files. Clients need no certificate of their own. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca: string };
}

/** How long a server may take until it answers, on a machine that has other things to do. */
const START_TIMEOUT_MS = 20_000;

/**
 * A private `redis-server` on a port of its own, without persistence, in a folder of its own. It ends with this
 * process, however that ends. Used by the tests, the demo and the benchmark alike.
 *
 * ```
 * start() ──► running ◄──────────── restart(): same port, no data
 *              │  ▲
 *      pause() ▼  │ resume()          SIGSTOP / SIGCONT: connections stay open, nobody answers
 *             stopped ──► stop() / kill()
 * ```
 */
export class RedisServer {
  readonly host = '127.0.0.1';
  readonly port: number;
  readonly #options: RedisServerOptions;
  readonly #folder: string;
  #child: ChildProcess | undefined;
  #paused = false;

  private constructor(port: number, options: RedisServerOptions) {
    this.port = port;
    this.#options = options;
    this.#folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ioredisson-redis-'));
  }

  /** Starts one and resolves when it answers. */
  static async start(options: RedisServerOptions = {}): Promise<RedisServer> {
    for (let attempt = 1; ; attempt++) {
      const server = new RedisServer(options.port ?? (await freePort()), options);
      try {
        await server.#launch();
        return server;
      } catch (error) {
        await server.stop();
        // A free port may be taken by somebody else before the server binds it.
        if (options.port !== undefined || attempt === 3) throw error;
      }
    }
  }

  /** With the password, if there is one. */
  get url(): string {
    const scheme = this.#options.tls === undefined ? 'redis' : 'rediss';
    const password = this.#options.password === undefined ? '' : `:${encodeURIComponent(this.#options.password)}@`;
    return `${scheme}://${password}${this.host}:${this.port}`;
  }

  /** The process id; throws while it does not run. */
  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error('the server is not running');
    return pid;
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  /** Ends the server, which closes its connections properly, and removes its folder. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM');
    fs.rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Ends the server at once, as a crash would. {@link restart} brings it back. */
  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  /** Starts it again on the same port, after ending it where it still runs. Without persistence its data are gone. */
  async restart(): Promise<void> {
    await this.kill();
    await this.#launch();
  }

  /** SIGSTOP: the server keeps its connections and answers nobody. */
  pause(): void {
    process.kill(this.pid, 'SIGSTOP');
    this.#paused = true;
  }

  /** SIGCONT: goes on, with everything that was sent meanwhile. */
  resume(): void {
    process.kill(this.pid, 'SIGCONT');
    this.#paused = false;
  }

  /** The text of the server's log. */
  log(): string {
    const file = path.join(this.#folder, 'redis.log');
    return fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '';
  }

  async #launch(): Promise<void> {
    const binary = await findRedisServer();
    fs.mkdirSync(this.#folder, { recursive: true });
    // A session of its own: Ctrl-C in the terminal is for the demo, which may still need its server.
    const child = spawn(binary, this.#arguments(binary), { cwd: this.#folder, stdio: 'ignore', detached: true });
    this.#child = child;
    child.unref();
    child.on('error', () => this.#forget(child));
    child.on('exit', () => this.#forget(child));
    if (child.pid !== undefined) supervise(child.pid, this.#folder);
    await this.#answers();
  }

  #arguments(binary: string): string[] {
    const { password, tls: secure, args = [], config, debug } = this.#options;
    const port = String(this.port);
    return [
      ...(config === undefined ? [] : [this.#writeConfig(config)]),
      ...(secure === undefined ? ['--port', port] : ['--port', '0', '--tls-port', port, '--tls-auth-clients', 'no']),
      ...(secure === undefined
        ? []
        : ['--tls-cert-file', secure.cert, '--tls-key-file', secure.key, '--tls-ca-cert-file', secure.ca]),
      ...['--bind', this.host, '--save', '', '--appendonly', 'no', '--daemonize', 'no'],
      ...['--dir', this.#folder, '--logfile', 'redis.log'],
      ...(password === undefined ? [] : ['--requirepass', password]),
      ...(debug === true && majorOf(binary) >= 7 ? ['--enable-debug-command', 'yes'] : []),
      ...args,
    ];
  }

  /** Only once: after a restart the file is what the server has made of it. */
  #writeConfig(lines: readonly string[]): string {
    const file = path.join(this.#folder, 'redis.conf');
    if (!fs.existsSync(file)) fs.writeFileSync(file, `${lines.join('\n')}\n`);
    return file;
  }

  async #answers(): Promise<void> {
    const deadline = monotonicNow() + START_TIMEOUT_MS;
    while (!(await this.#ping())) {
      if (!this.isRunning) throw new Error(`redis-server ended at its start: ${lastLines(this.log())}`);
      if (monotonicNow() > deadline) {
        throw new Error(`redis-server does not answer on port ${this.port}: ${lastLines(this.log())}`);
      }
      await sleep(5);
    }
  }

  /** Whether the server answers a PING with anything but "loading"; `-NOAUTH` is an answer too. */
  #ping(): Promise<boolean> {
    return new Promise((resolve) => {
      const { port, host } = this;
      const socket =
        this.#options.tls === undefined
          ? net.connect(port, host)
          : tls.connect({ port, host, rejectUnauthorized: false });
      const done = (answered: boolean): void => {
        socket.destroy();
        resolve(answered);
      };
      socket.once('error', () => done(false));
      socket.once('close', () => done(false));
      socket.once('data', (reply: Buffer) => done(!reply.toString('latin1').startsWith('-LOADING')));
      socket.write('PING\r\n');
    });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    const ended = once(child, 'exit');
    child.ref();
    // A paused server heeds SIGKILL only.
    child.kill(this.#paused ? 'SIGKILL' : signal);
    const kill = setTimeout(() => child.kill('SIGKILL'), 5000);
    await ended;
    clearTimeout(kill);
    this.#paused = false;
  }

  #forget(child: ChildProcess): void {
    if (child.pid !== undefined) release(child.pid);
    if (this.#child === child) this.#child = undefined;
  }
}

/**
 * A port that is free, as is the one 10 000 above it, which a node of a cluster uses as well. Both are below those that
 * systems give to outgoing connections, so that none of these takes them before the server does, or while it restarts.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 1; attempt <= 100; attempt++) {
    const port = LOWEST_PORT + Math.floor(Math.random() * PORTS);
    if ((await isFree(port)) && (await isFree(port + BUS_OFFSET))) return port;
  }
  throw new Error(`no free port from ${LOWEST_PORT} to ${LOWEST_PORT + PORTS - 1}`);
}

/** The major version of a server's program. */
function majorOf(binary: string): number {
  const text = execFileSync(binary, ['--version'], { encoding: 'utf8' });
  return Number(/ v=(\d+)\./.exec(text)?.[1]);
}

const LOWEST_PORT = 10_000;
const PORTS = 12_000;
const BUS_OFFSET = 10_000;

async function isFree(port: number): Promise<boolean> {
  const listener = net.createServer().listen(port, '127.0.0.1');
  try {
    await once(listener, 'listening');
  } catch {
    return false;
  }
  listener.close();
  await once(listener, 'close');
  return true;
}

function lastLines(log: string): string {
  return log.trim().split('\n').slice(-3).join(' | ') || 'no log';
}
