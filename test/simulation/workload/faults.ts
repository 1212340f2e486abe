import type { SimSocket, Break } from '../net/SimSocket';
import type { SimServer } from '../server/SimServer';
import type { App } from './App';
import { clusterFault, clusterServerFault } from './clusterFaults';
import { tokenFault } from './tokenWorlds';
import { type FaultFamily, type World } from './World';

/**
 * Bytes of a broken connection arrive so much later at most, in ms. A client of ours looks for what they may have done
 * for their lease and a minute.
 */
const LATEST_MS = 60_000;

/** Bursts of faults, and calm between them. */
export class FaultPlan {
  readonly #world: World;
  readonly #startApp: (java: boolean) => App;

  /** @param startApp - starts a process in the place of one that died */
  constructor(world: World, startApp: (java: boolean) => App) {
    this.#world = world;
    this.#startApp = startApp;
  }

  begin(): void {
    const { profile, loop, random } = this.#world;
    if (profile.faults.length > 0) loop.after(random.between(10, profile.calmMs), () => this.#burst());
  }

  #burst(): void {
    const world = this.#world;
    const { random, loop, profile } = world;
    if (world.stopping) return;
    const length = random.of([0, 200, 3_000, 6_000]);
    const count = 1 + random.below(length === 0 ? 2 : 5);
    world.trouble(length);
    for (let i = 0; i < count; i++) {
      loop.after(random.between(0, length), () => {
        if (!world.stopping) this.#fault(random.of(profile.faults));
      });
    }
    loop.after(length + random.between(profile.calmMs / 2, profile.calmMs), () => this.#burst());
  }

  #fault(family: FaultFamily): void {
    switch (family) {
      case 'network':
        return this.#network();
      case 'server':
        return this.#server();
      case 'process':
        return this.#process();
      case 'memory':
        return this.#memory();
      case 'disk':
        return this.#disk();
      case 'shutdown':
        return this.#shutdown();
      case 'cut':
        return this.#cut();
      case 'cluster':
        return clusterFault(this.#world);
      case 'tokens':
        return tokenFault(this.#world);
      case 'sentinel':
        return this.#world.sentinels?.fault();
    }
  }

  #network(): void {
    const world = this.#world;
    const { random } = world;
    const socket = this.#anyConnection();
    if (socket === undefined) return;
    switch (random.below(4)) {
      case 0: {
        const ms = random.of([random.between(10, 500), random.between(500, 8_000), random.between(8_000, 50_000)]);
        world.trouble(ms);
        world.loop.note(`hole of ${ms.toFixed()} ms between ${socket.process?.id} and ${socket.server.name}`);
        return socket.hole(ms);
      }
      case 1:
        return socket.break(this.#break());
      default: {
        // To hit where it hurts; that may be long after the burst.
        const at = random.of(['write', 'reply', 'message'] as const);
        const how = this.#break();
        socket.trap = { at, how, sprung: () => world.trouble(lengthOf(how)) };
        world.trouble(3_000);
      }
    }
  }

  /** A connection breaks with the next message: nobody hears it, and the client learns of the break at once. */
  #cut(): void {
    const socket = this.#anyConnection();
    if (socket !== undefined) socket.trap = { at: 'message', how: { clientIn: 1, serverIn: 1 } };
  }

  #break(): Break {
    const { random } = this.#world;
    const soon = (): number => random.of([0, random.around(5), random.around(300)]);
    const lateBy = random.chance(70)
      ? Math.min(random.of([random.around(50), random.around(1_000), random.around(4_000)]), LATEST_MS)
      : undefined;
    const clientIn = random.chance(15) ? Infinity : soon();
    const how = { clientIn, serverIn: soon(), lateBy };
    this.#world.trouble(lengthOf(how));
    return how;
  }

  #server(): void {
    const world = this.#world;
    const { random, oracle } = world;
    if (world.cluster !== undefined) return clusterServerFault(world);
    const server = random.of(world.nodes);
    if (world.profile.replicas > 0 && random.chance(70)) return this.#replicas(server);
    if (random.chance(50)) {
      const ms = random.of([random.between(10, 300), random.between(300, 7_000)]);
      world.trouble(ms);
      return server.pause(ms);
    }
    const ms = random.of([random.between(1, 100), random.between(100, 5_000)]);
    const empty = random.chance(50);
    world.trouble(ms);
    if (empty) oracle.lost(server.name);
    server.restart(ms, empty);
  }

  #replicas(server: SimServer): void {
    const world = this.#world;
    const { random } = world;
    const ms = random.of([random.between(10, 500), random.between(500, 6_000)]);
    world.trouble(ms);
    if (random.chance(60)) server.stall(ms);
    else if (world.sentinels !== undefined) world.sentinels.failOver(server);
    else server.failOver(ms);
  }

  #process(): void {
    const world = this.#world;
    const { random, loop } = world;
    const running = world.apps.filter((app) => app.running);
    if (running.length === 0) return;
    const app = random.of(running);
    if (random.chance(60)) {
      const ms = random.of([random.between(5, 200), random.between(200, 4_000), random.between(4_000, 40_000)]);
      world.trouble(ms);
      loop.note(`${app.process.id} stops for ${ms.toFixed()} ms`);
      app.process.frozenUntil = loop.now + ms;
      app.process.disturb(loop.now + ms);
      loop.after(ms + 5, () => world.oracle.recheck(app));
      return;
    }
    const silently = random.chance(30);
    loop.note(`${app.process.id} dies${silently ? ' silently' : ''}`);
    world.trouble(world.profile.settings.lockWatchdogTimeout);
    app.crash(silently);
    world.forget(app);
    loop.after(random.around(500), () => {
      if (!world.stopping) this.#startApp(app.java);
    });
  }

  #memory(): void {
    const world = this.#world;
    const server = world.random.of(world.nodes);
    const ms = world.random.of([50, 1_000, 6_000]);
    world.trouble(ms);
    world.loop.note(`${server.name} has no memory for ${ms} ms`);
    server.full = true;
    server.disturb(ms);
    world.loop.after(ms, () => (server.full = false));
  }

  #disk(): void {
    const world = this.#world;
    const server = world.random.of(world.nodes);
    const ms = world.random.of([50, 2_000, 15_000]);
    world.trouble(ms);
    world.loop.note(`${server.name} refuses to write for ${ms} ms`);
    server.refuses = true;
    server.disturb(ms);
    world.loop.after(ms, () => (server.refuses = false));
  }

  /** A process ends in good order, in the middle of its work. */
  #shutdown(): void {
    const world = this.#world;
    const { random, loop } = world;
    const running = world.apps.filter((app) => app.running && !app.leaving && !app.java);
    if (running.length < 2) return;
    const app = random.of(running);
    const drain = random.of([undefined, random.between(1, 200), 2_000]);
    loop.note(`${app.process.id} shuts down${drain === undefined ? '' : `, drain ${drain.toFixed()} ms`}`);
    // What it holds without a drain is left to expire.
    world.trouble(0);
    void world.close(app, drain).then(() => {
      loop.after(random.around(500), () => {
        if (!world.stopping) this.#startApp(false);
      });
    });
  }

  #anyConnection(): SimSocket | undefined {
    const open = this.#world.servers.flatMap(({ connections }) => connections.filter((one) => one.process?.alive));
    return open.length === 0 ? undefined : this.#world.random.of(open);
  }
}

/** For how long something is wrong when a connection breaks, in ms: a client finds out by itself within 9 s. */
function lengthOf({ clientIn, serverIn, lateBy = 0 }: Break): number {
  return Math.max(serverIn, lateBy, clientIn === Infinity ? 9_000 : clientIn);
}
