import type { Redisson, RObject } from '../../../../lib';
import type { BenchKind } from '../benchTypes';
import type { Path, Step } from '../paths';
import type { PeerConfig } from '../Peer';
import type { BatchCall, BatchEntry } from '../PeerThread';
import type { DriverReply, DriverRequest, Transport } from '../Transport';
import { createNodeClient } from './createNodeClient';
import { runNodeBench } from './nodeBench';
import { NodeWorker } from './NodeWorker';
import { RawLocks } from './RawLocks';
import { toNodeCall } from './toNodeCall';

type Callable = Readonly<Record<string, (...args: readonly unknown[]) => unknown>>;

/** What {@link NodeDriver} keeps of a client. */
export interface NodeClient {
  readonly redisson: Redisson;
  readonly config: PeerConfig;
  /** What its object listeners were told. */
  readonly heard: string[];
  /** The floor to measure against; opened by the first path that begins with `raw`. */
  raw?: RawLocks;
}

/** This package behind the requests of the Java driver: {@link Transport} within this process. */
export class NodeDriver implements Transport {
  readonly side = 'node';
  readonly #clients = new Map<string, NodeClient>();
  readonly #workers = new Map<string, NodeWorker>();
  #lastId = 0;

  async request(request: DriverRequest): Promise<DriverReply> {
    const id = typeof request['id'] === 'number' ? request['id'] : ++this.#lastId;
    let startedAt = now();
    try {
      const result = await this.#perform(request, () => (startedAt = now()));
      return { id, ok: true, result: plain(result), startedAt, endedAt: now() };
    } catch (error) {
      return { id, ok: false, ...describe(error), startedAt, endedAt: now() };
    }
  }

  /** The client of that name, for what the requests cannot say. */
  client(name: string): NodeClient {
    const client = this.#clients.get(name);
    if (client === undefined) throw new Error(`no client '${name}'`);
    return client;
  }

  /** Shuts every client down. */
  async close(): Promise<void> {
    await Promise.all([...this.#clients.keys()].map((name) => this.#shutdown(name)));
  }

  async #perform(request: DriverRequest, started: () => void): Promise<unknown> {
    const name = request['client'] as string;
    switch (request.op) {
      case 'ping':
        return 'pong';
      case 'create':
        return this.#create(name, request['config'] as PeerConfig);
      case 'clientId':
        return this.client(name).redisson.getId();
      case 'shutdown':
        return this.#shutdown(name);
      case 'bench':
        return runNodeBench(this, name, request['kind'] as BenchKind, request);
      case 'listen':
        return this.#listen(name, request['object'] as Path);
      case 'heard':
        return [...this.client(name).heard];
      case 'interrupt':
        return this.#worker(name, String(request['thread'])).interrupt();
      case 'threadId':
      case 'call':
      case 'batch':
        return this.#worker(name, String(request['thread'])).run((signal) => {
          started();
          return this.#onThread(name, request, signal);
        });
    }
  }

  #create(name: string, config: PeerConfig): unknown {
    const redisson = createNodeClient(config);
    this.#clients.set(name, { redisson, config, heard: [] });
    return { clientId: redisson.getId(), ignored: [] };
  }

  async #listen(name: string, path: Path): Promise<number[]> {
    const { heard } = this.client(name);
    const object = this.resolve(name, path) as RObject;
    const id = await object.addListener({
      onExpired: (ended) => heard.push(`expired ${ended}`),
      onDeleted: (ended) => heard.push(`deleted ${ended}`),
    });
    return [id];
  }

  async #shutdown(name: string): Promise<void> {
    const client = this.#clients.get(name);
    this.#clients.delete(name);
    for (const [thread, worker] of this.#workers) {
      if (thread.startsWith(`${name} `)) {
        this.#workers.delete(thread);
        worker.end();
      }
    }
    client?.raw?.close();
    await client?.redisson.shutdown();
  }

  #worker(name: string, thread: string): NodeWorker {
    const key = `${name} ${thread}`;
    let worker = this.#workers.get(key);
    if (worker === undefined) {
      worker = new NodeWorker(this.client(name).redisson);
      this.#workers.set(key, worker);
    }
    return worker;
  }

  async #onThread(name: string, request: DriverRequest, signal: AbortSignal): Promise<unknown> {
    if (request.op === 'threadId') return this.client(name).redisson.currentThreadId();
    if (request.op === 'call') return this.#call(name, request as unknown as BatchCall, signal);
    const results: BatchEntry[] = [];
    for (const call of request['calls'] as BatchCall[]) {
      try {
        results.push({ ok: true, result: plain(await this.#call(name, call, signal)) });
      } catch (error) {
        results.push({ ok: false, ...describe(error) });
      }
    }
    return results;
  }

  #call(name: string, { object, method, args }: BatchCall, signal: AbortSignal): unknown {
    const step = object[object.length - 1] ?? [''];
    const [nodeMethod, nodeArgs] = toNodeCall(step, method, args, { signal });
    return invoke(this.resolve(name, object), nodeMethod, nodeArgs);
  }

  /** The object at the path. */
  resolve(name: string, path: Path): unknown {
    const [first] = path;
    if (first?.[0] === 'raw') {
      const client = this.client(name);
      client.raw ??= new RawLocks(client.config.addresses[0] ?? '');
      return client.raw.lock(String(first[1]));
    }
    return path.reduce<unknown>((target, [method, ...args]: Step) => {
      const values = args.map((arg) => (isObject(arg) ? this.resolve(arg.client ?? name, arg.object) : arg));
      return invoke(target, method, values);
    }, this.client(name).redisson);
  }
}

function isObject(arg: unknown): arg is { object: Path; client?: string } {
  return typeof arg === 'object' && arg !== null && 'object' in arg;
}

function invoke(target: unknown, method: string, args: readonly unknown[]): unknown {
  const callable = target as Callable;
  if (typeof callable[method] !== 'function') throw new TypeError(`no method '${method}'`);
  return callable[method](...args);
}

/** As JSON would have it. */
function plain(result: unknown): unknown {
  if (typeof result === 'bigint') return Number(result);
  return result === undefined ? null : result;
}

function describe(error: unknown): { error: string; message: string } {
  return error instanceof Error
    ? { error: error.name, message: error.message }
    : { error: typeof error, message: String(error) };
}

/** Epoch ms with a fraction, as the Java driver's. */
function now(): number {
  return performance.timeOrigin + performance.now();
}
