import { Random } from '../engine/Random';
import { SimTokens, type TokenProfile, type TokenTrouble } from '../server/SimTokens';
import { sentinelled } from './sentinelWorlds';
import { DEAF_MS, ERROR_MS, type Profile, type World } from './World';

/** Of a hundred worlds so many have passwords that change. */
const TOKEN_WORLDS = 12;
/** A provider that hangs is given up after so many ms (`connectTimeout`). */
const HANG_MS = 10_000;

const TROUBLES: readonly TokenTrouble[] = ['rejects', 'hangs', 'nonsense', 'stale'];

/** Clients are let in by tokens that are over after a while, and are revoked. */
export function withTokens(profile: Profile, seed: number): Profile {
  // Numbers of its own, so that worlds without tokens stay as they were.
  const random = new Random(seed + 2 ** 45);
  if (!random.chance(TOKEN_WORLDS) || profile.javaApps > 0) return profile;
  const tokens: TokenProfile = {
    lifetimeMs: random.of([10_000, 20_000, 60_000]),
    streaming: random.chance(50),
    evicts: random.chance(50),
    ...(random.chance(50) && { revokedEveryMs: random.of([5_000, 30_000]) }),
  };
  const faults = random.chance(60) ? ([...profile.faults, 'tokens'] as const) : profile.faults;
  return loggedIn({ ...profile, faults, tokens });
}

/**
 * A world with tokens: clients are ours, and find masters by themselves, since a user's own client has its password.
 */
export function loggedIn(profile: Profile): Profile {
  const { replicas, cluster, sentinels } = profile;
  const found = replicas > 0 && cluster === undefined && sentinels === 0 ? sentinelled(profile) : profile;
  return { ...found, javaApps: 0 };
}

/** The tokens of a world: a connection that ends since its login is over has not been logged in again in time. */
export function tokensOf(world: World, profile: TokenProfile): SimTokens {
  const tokens = new SimTokens(world.loop, profile);
  tokens.expired = (id, server) => {
    const app = world.apps.find(({ process }) => process.id === id);
    const disturbed = Math.max(app?.process.disturbedUntil ?? Infinity, world.troubleEnds);
    if (app === undefined || app.closed || world.loop.now - disturbed < ERROR_MS) return;
    world.oracle.violate(`${id} has let the login of its connection to ${server} expire`);
  };
  return tokens;
}

/** Something happens to the provider of tokens, or to those who were let in. */
export function tokenFault(world: World): void {
  const { random, tokens, nodes, loop } = world;
  if (tokens === undefined) return;
  if (tokens.profile.evicts && random.chance(30)) {
    tokens.revoke();
    world.trouble(DEAF_MS);
    loop.note('and nobody stays who was let in');
    for (const node of nodes) node.breakAll();
    return;
  }
  const ms = random.of([random.between(10, 500), random.between(500, 8_000), random.between(8_000, 50_000)]);
  const what = random.of(TROUBLES);
  const inAllMs = ms + (what === 'hangs' ? HANG_MS : 0);
  world.trouble(inAllMs);
  // Whoever's login ends meanwhile is cut off until there is another one.
  for (const { process } of world.apps) process.disturb(loop.now + inAllMs + DEAF_MS);
  tokens.fail(what, ms);
}
