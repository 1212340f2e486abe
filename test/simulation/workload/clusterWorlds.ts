import { Random } from '../engine/Random';
import type { ClusterProfile } from '../server/SimCluster';
import { loggedIn } from './tokenWorlds';
import type { FaultFamily, Profile } from './World';

/** Of a hundred worlds so many have a cluster. */
const CLUSTER_WORLDS = 15;

/** What worlds have in common, instead of what their seeds say. */
export type GivenProfile = Partial<Omit<Profile, 'cluster'>> & { readonly cluster?: Partial<ClusterProfile> };

/** What a seed has drawn, but for what is given. */
export function withGiven(drawn: Profile, given: GivenProfile, seed: number): Profile {
  const { cluster: wanted, ...rest } = given;
  if (wanted === undefined) return given.tokens === undefined ? { ...drawn, ...rest } : loggedIn({ ...drawn, ...rest });
  const { cluster, ...other } = clustered(drawn, new Random(seed + 2 ** 43), wanted);
  return { ...other, ...rest, cluster: cluster! };
}

/** Puts a cluster in the place of the servers. */
export function withCluster(profile: Profile, seed: number): Profile {
  // Numbers of its own, so that worlds without a cluster stay as they were.
  const random = new Random(seed + 2 ** 43);
  if (!random.chance(CLUSTER_WORLDS) || profile.javaApps > 0) return profile;
  return clustered(profile, random);
}

function clustered(profile: Profile, random: Random, wanted: Partial<ClusterProfile> = {}): Profile {
  const cluster: ClusterProfile = {
    sharded: random.chance(70),
    lossy: random.chance(50),
    fullCoverage: random.chance(50),
    nodeTimeoutMs: random.of([500, 1_500, 3_000]),
    scanIntervalMs: random.of([1_000, 5_000, 5_000]),
    ...wanted,
  };
  const own: readonly FaultFamily[] = random.chance(90) ? ['cluster', 'cluster'] : [];
  const faults = [...profile.faults, ...own];
  // What no replica has confirmed of a synchronizer is lost.
  const lossy = cluster.lossy ? { synchronizers: 0 } : {};
  return { ...profile, servers: 1, replicas: 1, javaApps: 0, cluster, faults, ...lossy };
}
