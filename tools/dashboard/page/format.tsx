import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { LockRow, OwnerView } from '../../../lib/operators/dashboard/wire';
import { levelOf } from '../../../lib/operators/inspection/advice';
import { KIND_NAMES } from '../../../lib/operators/inspection/kindNames';
import { readableTime } from '../../../lib/util/readableTime';
import { serverNow } from './live';

/** A time span for the user, in the format of the command line. */
export function span(ms: number): string {
  return readableTime(Math.max(0, ms));
}

export function clock(at: number): string {
  return new Date(at).toTimeString().slice(0, 8);
}

/** The time zone of all times on the page: the command line shows UTC. */
export function zone(at: number): string {
  const offset = -new Date(at).getTimezoneOffset();
  const [hours, minutes] = [Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60];
  return offset === 0
    ? 'UTC'
    : `UTC${offset < 0 ? '−' : '+'}${hours}${minutes === 0 ? '' : `:${String(minutes).padStart(2, '0')}`}`;
}

export function count(n: number): string {
  return String(n).replace(/\B(?=(\d{3})+$)/g, '\u202f');
}

/**
 * Control characters, characters that change the direction of writing or have no width, and all that only look like a
 * space: they could make a name look like another.
 */
const ODD =
  /[\u0000-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|\udb40[\udc00-\udfff]/g;

function escaped(char: string): string {
  if (char === '\n') return '\\n';
  return char.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** A name in characters that a user can see and type. */
export function visible(name: string): string {
  return name.replace(ODD, escaped);
}

/** A name, with its invisible characters made visible. */
export function Name({ text }: { readonly text: string }): JSX.Element {
  const parts = text.split(new RegExp(`(${ODD.source})`, 'g'));
  return (
    <bdi class="name">{parts.map((part, i) => (i % 2 === 1 ? <span class="odd">{escaped(part)}</span> : part))}</bdi>
  );
}

/** Renders again at this interval, so that times run on. */
export function useClock(everyMs: number): number {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return serverNow();
}

/** The label of each verdict, and a sign for users who cannot distinguish the colours. */
export const VERDICTS = {
  free: ['free', '○'],
  held: ['held', '●'],
  stuck: ['stuck', '■'],
  'dead-lock': ['dead-lock', '↻'],
  'holder-gone': ['holder gone', '✕'],
  'not-renewed': ['not renewed', '◐'],
  'no-expiry': ['no expiry', '∞'],
  'wrong-type': ['wrong type', '!'],
} as const;

/** Somebody has waited long for permits or a latch: whether that is trouble, nobody but a person can tell. */
const LONG_WAIT = ['long wait', '◔'] as const;

/** The class with the colour of a verdict. */
export function colorOf({ verdict }: LockRow): string {
  return levelOf(verdict) === 'amber' ? 'v-amber' : `v-${verdict.kind}`;
}

export function Badge({ lock, now }: { readonly lock: LockRow; readonly now: number }): JSX.Element {
  const { kind } = lock.verdict;
  const isAmber = levelOf(lock.verdict) === 'amber';
  const [label, sign] = isAmber ? LONG_WAIT : VERDICTS[kind];
  const since = kind === 'not-renewed' ? silentSince(lock) : undefined;
  return (
    <>
      <span class={`badge ${colorOf(lock)}`}>
        <span aria-hidden="true">{sign}</span> {since === undefined ? label : 'no answer'}
      </span>
      {since !== undefined && <span class="for"> for {span(now - since)}</span>}
    </>
  );
}

/** Since when a holder has not answered: the earliest among the holders shown. */
export function silentSince({ holders }: LockRow): number | undefined {
  const all = holders.flatMap((one) => one.silentSince ?? []);
  return all.length === 0 ? undefined : Math.min(...all);
}

/** What a key holds that is none of the kinds. */
const OTHERS = { number: 'number', other: 'other data', none: 'nothing there' } as const;
const NAMES: Readonly<Record<LockRow['kind'], string>> = { ...KIND_NAMES, ...OTHERS };

export function kindOf({ kind, mode }: LockRow): string {
  return mode === undefined ? NAMES[kind] : `${NAMES[kind]}, ${mode === 'read' ? 'reading' : 'writing'}`;
}

/** A short name for the process of an owner. */
export function processOf({ process, clientId, owner }: OwnerView): string {
  const { host, pid, java } = process;
  if (host !== undefined) return pid === undefined ? host : `${host} · ${pid}`;
  // Only a thread id like Java's speaks for it: a caller may have chosen one.
  if (java) return `Java? · ${clientId.slice(0, 8)}`;
  return clientId === '' ? visible(owner).slice(0, 24) : `client ${clientId.slice(0, 8)}`;
}

export function connectionOf(
  owner: OwnerView & { readonly silent?: true },
): 'connected' | 'silent' | 'gone' | 'unknown' {
  const { process, silent } = owner;
  if (silent === true && process.connected === true) return 'silent';
  return process.connected === 'unknown' ? 'unknown' : process.connected ? 'connected' : 'gone';
}

/**
 * How long the lease still lasts. The bar moves by itself. `…`: the lease is over, and the next state is not known
 * yet.
 */
export function LeaseBar({ lock, now, large }: { lock: LockRow; now: number; large?: boolean }): JSX.Element {
  const { expiresAt, leaseMs } = lock;
  if (expiresAt === null || leaseMs === null) {
    // The key of a semaphore or latch has no expiry; its permits may have leases, which the list does not know.
    const isHeldForever = lock.value === undefined && lock.verdict.kind !== 'free' && lock.holderCount > 0;
    return <span class="lease none">{isHeldForever ? 'no expiry' : ''}</span>;
  }
  const left = Math.max(0, expiresAt - now);
  const share = Math.min(1, left / Math.max(1, leaseMs));
  return (
    <span class={large ? 'lease large' : 'lease'}>
      <span class="track" aria-hidden="true">
        <span class={`fill ${colorOf(lock)}`} style={{ transform: `scaleX(${share.toFixed(4)})` }} />
      </span>
      <span class="left">{left === 0 ? '…' : span(left)}</span>
    </span>
  );
}
