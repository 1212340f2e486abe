import * as fs from 'node:fs';
import { type Sample } from './scenario';

/** A round in which the machine was somebody else's for longer than this share of the time is disturbed. */
const STOLEN_SHARE = 0.05;
/** So is one whose reference changed by more than this factor from before it to after it. */
const UNSTEADY_FACTOR = 1.3;

/** Processor time of the whole machine since it started, in ticks. */
export interface MachineTime {
  readonly all: number;
  /** What the host of a virtual machine gave to others. */
  readonly stolen: number;
}

/** Reads the first line of Linux' `/proc/stat`. `undefined` on other systems. */
export function machineTime(): MachineTime | undefined {
  if (process.platform !== 'linux') return undefined;
  return parseMachineTime(fs.readFileSync('/proc/stat', 'utf8'));
}

/** @param stat - the text of `/proc/stat` */
export function parseMachineTime(stat: string): MachineTime | undefined {
  // user nice system idle iowait irq softirq steal; what guests use is in user already
  const ticks = /^cpu +(.*)$/m.exec(stat)?.[1]?.split(' ').slice(0, 8).map(Number) ?? [];
  const [stolen] = ticks.slice(7);
  return stolen === undefined ? undefined : { all: ticks.reduce((sum, each) => sum + each, 0), stolen };
}

/** What is compared around a round. */
export interface RoundSurroundings {
  readonly timeBefore: MachineTime | undefined;
  readonly timeAfter: MachineTime | undefined;
  /** The reference's samples next to the round. */
  readonly before: Sample;
  readonly after: Sample;
  /** Which value of the reference should be the same in both. */
  readonly steady: string | undefined;
}

/** Why a round says little about the contestant. `undefined`: nothing was noticed. */
export function disturbanceOf(round: RoundSurroundings): string | undefined {
  const { timeBefore, timeAfter, before, after, steady } = round;
  if (timeBefore !== undefined && timeAfter !== undefined) {
    const share = (timeAfter.stolen - timeBefore.stolen) / Math.max(1, timeAfter.all - timeBefore.all);
    if (share > STOLEN_SHARE) return `${(share * 100).toFixed()} % of the machine was stolen`;
  }
  const [first, second] = steady === undefined ? [] : [before[steady], after[steady]];
  if (first === undefined || second === undefined) return undefined;
  const factor = Math.max(first, second) / Math.min(first, second);
  return factor > UNSTEADY_FACTOR ? `its reference changed by a factor of ${factor.toFixed(2)}` : undefined;
}
