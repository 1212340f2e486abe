import { Random } from '../engine/Random';
import { SimSentinels } from '../server/SimSentinels';
import type { SimServer } from '../server/SimServer';
import type { Profile, World } from './World';

/** Of a hundred worlds with replicas so many are found by way of sentinels. */
const SENTINEL_WORLDS = 60;
const SENTINELS = 3;
/** A master that becomes a replica breaks the connections of its clients so much later at most, in ms. */
const LATEST_KICK_MS = 5_000;

/** Clients find the servers by way of sentinels. */
export function withSentinels(profile: Profile, seed: number): Profile {
  const random = new Random(seed + 2 ** 44);
  if (!random.chance(SENTINEL_WORLDS) || profile.replicas === 0 || profile.cluster !== undefined) return profile;
  return sentinelled(profile);
}

export function sentinelled(profile: Profile): Profile {
  return { ...profile, sentinels: SENTINELS, faults: [...profile.faults, 'sentinel'] };
}

/** What sentinels do, and what happens to them. */
export class SentinelWorld {
  readonly sentinels: SimSentinels;
  readonly #world: World;
  /** Until when a failover is going on, in ms of the world. */
  readonly #busyUntil = new Map<SimServer, number>();

  constructor(world: World) {
    this.#world = world;
    const { loop, nodes, profile } = world;
    this.sentinels = new SimSentinels(loop, nodes, profile.sentinels);
    // Some let everybody in.
    this.sentinels.servers.forEach((sentinel, i) => (sentinel.tokens = i === 0 ? undefined : world.tokens));
    loop.dial = (host) => world.apps.find(({ process }) => process === loop.current)?.connect(this.sentinels.at(host));
  }

  /** Something happens to a sentinel. */
  fault(): void {
    const world = this.#world;
    const { random } = world;
    const sentinel = random.of(this.sentinels.servers);
    const ms = random.of([random.between(10, 500), random.between(500, 10_000)]);
    world.trouble(ms);
    if (random.chance(60)) sentinel.pause(ms);
    else sentinel.restart(ms, false);
  }

  /** A replica takes the place of its master. */
  failOver(server: SimServer): void {
    const world = this.#world;
    const { loop, random } = world;
    if ((this.#busyUntil.get(server) ?? 0) > loop.now) return;
    const dead = random.chance(40);
    const ms = random.of([random.between(10, 500), random.between(500, 6_000), random.between(6_000, 20_000)]);
    const { address } = server;
    // The others of the majority learn of it from each other; one may be cut off together with the old master.
    const delays = Array.from({ length: SENTINELS }, () => random.around(300));
    if (random.chance(50)) delays[random.below(SENTINELS)] = ms + random.between(0, 3_000);
    const endsIn = Math.max(ms, ...delays) + random.of([0, random.between(0, 5_000)]);
    this.#busyUntil.set(server, loop.now + endsIn);
    world.trouble(endsIn);
    let former: SimServer | undefined;
    if (dead) server.failOver(Math.min(ms, 5_000));
    else former = this.#split(server, endsIn);
    server.disturb(endsIn);
    this.sentinels.announce(server, delays);
    // The old one is there again, or hears of it.
    const goesOn = former ?? server.former(address);
    loop.after(endsIn, () => {
      loop.note(`${goesOn.name} at ${address} becomes a replica`);
      goesOn.replicate(server);
      this.sentinels.keep(goesOn);
      const kickIn = random.of([0, random.between(0, LATEST_KICK_MS)]);
      world.trouble(kickIn);
      loop.after(kickIn, () => goesOn.breakAll());
    });
  }

  /** The old master goes on beside its successor, for those who reach it. */
  #split(server: SimServer, ms: number): SimServer {
    const world = this.#world;
    const { random } = world;
    const former = server.split();
    this.sentinels.keep(former);
    // Nobody but the clients notices where it hangs.
    if (random.chance(30)) former.pause(ms);
    return former;
  }
}
