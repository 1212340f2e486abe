import { DriverProcess } from './DriverProcess';
import { javaArguments } from './javaBuild';
import { Peer, type PeerConfig } from './Peer';
import { NEWEST } from './toolchain';

/** How to start a JVM; everything is optional. */
export interface JavaOptions {
  /** Of Redisson. Default {@link NEWEST}. */
  readonly version?: string;
  /** `quick` (default): small heap, only the fast compiler, for tests. `full`: as a server would run, to measure. */
  readonly tuning?: 'quick' | 'full';
}

const TUNING = {
  quick: ['-Xmx256m', '-Xshare:auto', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'],
  full: ['-Xmx512m', '-XX:+UseSerialGC'],
} as const;

/** Redisson warns through slf4j-simple, which writes to stderr; netty is told not to probe for what is not there. */
const QUIET = [
  '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
  '-Dio.netty.noUnsafe=false',
  '-Djava.net.preferIPv4Stack=true',
];

const shared = new Map<string, Promise<JavaRedisson>>();

/** A JVM with a real Redisson of one version; its clients are {@link Peer}s. */
export class JavaRedisson {
  readonly version: string;
  readonly process: DriverProcess;

  private constructor(version: string, process: DriverProcess) {
    this.version = version;
    this.process = process;
  }

  /** Builds the driver if need be and starts a JVM of the caller's own, to be closed or killed by it. */
  static async start(options: JavaOptions = {}): Promise<JavaRedisson> {
    const { version = NEWEST, tuning = 'quick' } = options;
    const args = [...TUNING[tuning], ...QUIET, ...(await javaArguments(version))];
    return new JavaRedisson(version, await DriverProcess.start('java', 'java', args));
  }

  /**
   * The one JVM of this version that the suites of a run share, started by the first that asks. Never kill it, and
   * shut down the clients made in it. It ends with the run, or with {@link closeShared}.
   */
  static shared(version: string = NEWEST): Promise<JavaRedisson> {
    let java = shared.get(version);
    if (java === undefined) {
      java = JavaRedisson.start({ version });
      shared.set(version, java);
    }
    return java;
  }

  /** Ends shared JVMs: all, or those of one version that nobody needs any more. */
  static async closeShared(version?: string): Promise<void> {
    for (const [key, java] of [...shared]) {
      if (version === undefined || key === version) {
        shared.delete(key);
        await (await java.catch(() => undefined))?.close();
      }
    }
  }

  /** A new Redisson client in this JVM. */
  peer(config: PeerConfig): Promise<Peer> {
    return Peer.create(this.process, config);
  }

  /** As the machine losing power. */
  kill(): Promise<void> {
    return this.process.kill();
  }

  /** A normal end; holds of its clients are left to expire. */
  close(): Promise<void> {
    return this.process.close();
  }
}
