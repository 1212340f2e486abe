import { Redis } from 'ioredis';
import { CliProcess } from '../../cli/support/CliProcess';
import { RedisServer, sleep, trackClient } from '../../support';
import { SceneProcess } from './SceneProcess';

/** Names whose long waits are expected, as `--expect-waits` takes them. */
const EXPECTED_WAITS = 'leader:*';

/** A server on which scenes are played, each with a lock of its own, and a page that is open when things happen. */
export class Stage {
  readonly url: string;
  /** The address of the page. */
  readonly base: string;
  /** For the commands that know them: list, inspect, top. */
  readonly options: readonly string[] = ['--expect-waits', EXPECTED_WAITS];
  /** Live processes that wait for what others have, in several scenes. */
  readonly waiters: readonly SceneProcess[];

  private constructor(url: string, base: string, waiters: readonly SceneProcess[]) {
    this.url = url;
    this.base = base;
    this.waiters = waiters;
  }

  /** In a `before`: what it opens ends with the file. */
  static async open(): Promise<Stage> {
    const server = trackClient(await RedisServer.start());
    const page = ['dashboard', '--port', '0', '--label', 'production', '-u', server.url];
    const dashboard = CliProcess.start([...page, '--expect-waits', EXPECTED_WAITS]);
    const [printed, ...waiters] = await Promise.all([
      dashboard.prints(/^(http:\/\/\S+)\/\n/),
      SceneProcess.start(server.url),
      SceneProcess.start(server.url),
    ]);
    return new Stage(server.url, printed[1]!, waiters);
  }

  start(count: number, watchdogMs?: number): Promise<SceneProcess[]> {
    return Promise.all(Array.from({ length: count }, () => SceneProcess.start(this.url, watchdogMs)));
  }

  /** Changes data behind the scenes. */
  async change(act: (admin: Redis) => Promise<unknown>): Promise<void> {
    const admin = trackClient(new Redis(this.url));
    await act(admin);
    // The server may stop before the test does; one that is about to connect again leaves a timer behind.
    await admin.quit();
  }
}

/** A scene that is played. */
export class Play {
  readonly stage: Stage;
  /** The holder of the lock comes first. */
  processes: readonly SceneProcess[] = [];
  /** When that has happened which is to be told (monotonic). */
  happenedAt = performance.now();
  /** When it is what its title says (monotonic). */
  ripeAt = Infinity;

  constructor(stage: Stage) {
    this.stage = stage;
  }

  /** What the tools are to find out happens now. */
  happens(): void {
    this.happenedAt = performance.now();
  }

  /** Resolves when it is what its title says. */
  async ripe(): Promise<void> {
    await sleep(Math.max(0, this.ripeAt - performance.now()));
  }
}
