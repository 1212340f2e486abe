import type { Step } from '../engine/Loop';
import type { SimSocket } from '../net/SimSocket';
import type { SimServer } from '../server/SimServer';
import type { App } from '../workload/App';
import { CALM_MS } from '../workload/World';
import type { Scenario, Stage } from './Stage';

/** Where a fault strikes. */
export interface Place {
  readonly stage: Stage;
  /** The connection of the step. */
  readonly socket: SimSocket;
  readonly server: SimServer;
  /** Whose connection it is. */
  readonly app: App;
}

/** One way in which something goes wrong at one step of the exchange. */
export interface FaultKind {
  readonly name: string;
  readonly at: Step;
  /** Whether this can happen in such a scenario. @default in each */
  readonly where?: (scenario: Scenario) => boolean;
  /** So long after it is over, all clients have noticed and mended it, in ms. @default {@link SEEN_MS} */
  readonly healMs?: number;
  /** Whether it concerns all clients, not only the one whose connection it is. */
  readonly wide?: boolean;
  /** @returns for how long it lasts, in ms */
  strike(place: Place): number;
}

/**
 * A client has looked again so long after the end of a fault that it sees at once: it has connected again (ioredis
 * waits up to 2 s after some failures), and has subscribed.
 */
const SEEN_MS = 4_000;
/** A client that hears nothing for so long asks whether a connection is still there, and gives it up, in ms. */
const DEAD_MS = 9_000;

const lost = (lateBy: number | undefined, clientIn = 0) => ({
  strike: ({ stage, socket }: Place): number => {
    if (lateBy !== undefined && lateBy > 0) stage.late++;
    socket.break({ clientIn, serverIn: 0, ...(lateBy !== undefined && { lateBy }) });
    return Math.max(lateBy ?? 0, clientIn === Infinity ? DEAD_MS : 0);
  },
});

const silent = { clientIn: Infinity, healMs: CALM_MS };

function refuse(reply: string, ms: number): Pick<FaultKind, 'at' | 'wide' | 'strike'> {
  return {
    wide: true,
    at: 'run',
    strike({ stage, server }) {
      server.refuses = reply;
      server.disturb(ms);
      stage.world.loop.after(ms, () => (server.refuses = false));
      return ms;
    },
  };
}

function freeze(ms: (stage: Stage) => number): Pick<FaultKind, 'strike' | 'healMs'> {
  return {
    strike({ stage, app }) {
      const { loop, oracle } = stage.world;
      const length = ms(stage);
      app.process.frozenUntil = loop.now + length;
      app.process.disturb(loop.now + length);
      loop.after(length + 5, () => oracle.recheck(app));
      return length;
    },
  };
}

function callers(act: (stage: Stage, app: App) => void): Pick<FaultKind, 'strike'> {
  return {
    strike({ stage, app }) {
      act(stage, app);
      return 0;
    },
  };
}

function stepClock(ms: number): Pick<FaultKind, 'at' | 'strike'> {
  return {
    at: 'written',
    strike({ app }) {
      app.process.wallOffset += ms;
      return 0;
    },
  };
}

/** All kinds of faults. A name is part of the command that repeats a run. */
export const FAULT_KINDS: readonly FaultKind[] = [
  { name: 'cut-before-write', at: 'write', ...lost(undefined) },
  { name: 'cut-after-write', at: 'written', ...lost(0) },
  { name: 'late-30ms', at: 'written', ...lost(30) },
  { name: 'late-300ms', at: 'written', ...lost(300) },
  { name: 'late-3s', at: 'written', ...lost(3_000) },
  { name: 'late-30s', at: 'written', ...lost(30_000) },
  { name: 'lost-silently', at: 'written', ...lost(undefined, Infinity), healMs: silent.healMs },
  { name: 'cut-before-reply', at: 'ran', ...lost(undefined) },
  { name: 'cut-before-reply-silently', at: 'ran', ...lost(undefined, Infinity), healMs: silent.healMs },
  { name: 'cut-after-reply', at: 'read', ...lost(undefined) },
  { name: 'cut-at-message', at: 'message', ...lost(undefined, 1) },
  {
    name: 'cut-subscriptions',
    wide: true,
    at: 'run',
    strike({ server }) {
      const channels = server.channels;
      for (const socket of server.connections) {
        if (channels.some((channel) => server.listens(socket, channel))) socket.break({ clientIn: 0, serverIn: 0 });
      }
      return 0;
    },
  },
  {
    name: 'hole-100ms',
    at: 'written',
    strike({ socket }) {
      socket.hole(100);
      return 100;
    },
  },
  {
    name: 'hole-5s',
    at: 'written',
    strike({ socket }) {
      socket.hole(5_000);
      return 5_000;
    },
  },
  {
    name: 'reply-100ms-late',
    at: 'ran',
    strike({ socket }) {
      socket.toClient.hold(100);
      return 100;
    },
  },
  {
    name: 'server-pauses-100ms',
    wide: true,
    at: 'written',
    strike({ server }) {
      server.pause(100);
      return 100;
    },
  },
  {
    name: 'server-pauses-5s',
    wide: true,
    at: 'ran',
    strike({ server }) {
      server.pause(5_000);
      return 5_000;
    },
  },
  {
    name: 'restart',
    wide: true,
    at: 'run',
    strike({ server }) {
      server.restart(20, false);
      return 20;
    },
  },
  {
    name: 'restart-after-run',
    wide: true,
    at: 'ran',
    strike({ server }) {
      server.restart(20, false);
      return 20;
    },
  },
  {
    name: 'restart-empty',
    wide: true,
    at: 'ran',
    strike({ stage, server }) {
      stage.forgets(server);
      server.restart(20, true);
      return 20;
    },
  },
  {
    name: 'del',
    wide: true,
    // Nobody tells waiters that somebody has deleted the key (docs/reliability.md).
    healMs: Infinity,
    at: 'ran',
    strike({ stage, server }) {
      stage.forgets(server);
      stage.deleteKeys(server);
      return 0;
    },
  },
  {
    name: 'script-flush',
    wide: true,
    at: 'run',
    strike({ server }) {
      server.engine.forget();
      return 0;
    },
  },
  {
    name: 'failover',
    wide: true,
    at: 'ran',
    where: ({ replicas = 0 }) => replicas > 0,
    strike({ stage, server }) {
      stage.failsOver(server);
      server.failOver(30);
      return 30;
    },
  },
  // Only the one command: it comes again behind those that were sent after it.
  { name: 'refused-once', ...refuse('NOREPLICAS Not enough good replicas to write.', 0.01) },
  { name: 'NOREPLICAS-200ms', ...refuse('NOREPLICAS Not enough good replicas to write.', 200) },
  {
    name: 'READONLY-200ms',
    ...refuse("READONLY You can't write against a read only replica.", 200),
  },
  { name: 'BUSY-200ms', ...refuse('BUSY Redis is busy running a script.', 200) },
  { name: 'LOADING-200ms', ...refuse('LOADING Redis is loading the dataset in memory', 200) },
  { name: 'MISCONF-2s', ...refuse('MISCONF Redis is configured to save RDB snapshots', 2_000) },
  {
    name: 'OOM-200ms',
    wide: true,
    at: 'run',
    strike({ stage, server }) {
      server.full = true;
      server.disturb(200);
      stage.world.loop.after(200, () => (server.full = false));
      return 200;
    },
  },
  { name: 'blocked-at-write', at: 'written', ...freeze(({ leaseMs }) => 1.3 * leaseMs) },
  { name: 'blocked-when-run', at: 'ran', ...freeze(({ leaseMs }) => 1.3 * leaseMs) },
  { name: 'blocked-after-read', at: 'read', ...freeze(({ leaseMs }) => 1.3 * leaseMs) },
  { name: 'blocked-20ms', at: 'read', ...freeze(() => 20) },
  { name: 'abort', at: 'written', ...callers((stage, app) => stage.abort(app)) },
  { name: 'abort-after-read', at: 'read', ...callers((stage, app) => stage.abort(app)) },
  { name: 'shutdown', at: 'written', ...callers((stage, app) => stage.close(app, undefined)) },
  { name: 'shutdown-after-read', at: 'read', ...callers((stage, app) => stage.close(app, undefined)) },
  { name: 'drain', at: 'written', ...callers((stage, app) => stage.close(app, 5_000)) },
  { name: 'drain-after-read', at: 'read', ...callers((stage, app) => stage.close(app, 5_000)) },
  { name: 'killed', at: 'written', ...callers((stage, app) => stage.kill(app)) },
  { name: 'clock-5s-ahead', ...stepClock(5_000) },
  { name: 'clock-5s-behind', ...stepClock(-5_000) },
];

export { SEEN_MS };
