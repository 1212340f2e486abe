import type { ObjectKind } from '../api';

/**
 * The questions of an inspector to a client, and the answers, as JSON. A question is published on the client's channel
 * and names the channel for the answer. Readers ignore unknown fields.
 */

/** The channel that a client listens to while it has a hold or a wait older than {@link NOTEWORTHY_MS}. */
export function clientChannel(clientId: string): string {
  return `ioredisson:client:{${clientId}}`;
}

/** The channel for the answers to an inspector. @param id - a UUID */
export function answerChannel(id: string): string {
  return `ioredisson:answer:{${id}}`;
}

/** Answers are published only to these channels: a question must not make a client publish anywhere else. */
export const ANSWER_CHANNEL = /^ioredisson:answer:\{[0-9a-f-]{36}\}$/;

/** A client answers questions once a hold or a wait has lasted this long, in ms. */
export const NOTEWORTHY_MS = 5_000;

/** The most holds, and the most waits, of one answer. */
export const PAGE_SIZE = 500;

/** The most values of a group that are reported for one hold or one wait. */
export const MAX_VALUES = 100;

/** A question of an inspector. */
export interface Question {
  /** Comes back in the answer. */
  readonly id: string;
  /** The channel of the answer. */
  readonly to: string;
  /** Only holds of these keys. @default all, a page of them */
  readonly keys?: readonly string[];
  /** How many holds to skip: those of earlier pages. @default 0 */
  readonly from?: number;
}

/** A lock that a client holds. */
export interface HeldAround {
  readonly name: string;
  readonly key: string;
  /** Its owner on the wire. */
  readonly owner: string;
  /** Of a group: the fields of the values that are held. Absent if there are more than 100. */
  readonly values?: readonly string[];
}

/** A lock that a caller holds while it waits for another. */
export interface HeldByWaiter extends HeldAround {
  /** If it waits for values of a group: the fields of those that others must release. Limited like {@link values}. */
  readonly wants?: readonly string[];
}

/** A hold, as its client knows it. */
export interface ClientHold extends HeldAround {
  readonly kind: ObjectKind;
  readonly threadId: number;
  /** How often its thread holds it. */
  readonly count: number;
  /** The age of the oldest of these holds, in ms. */
  readonly heldMs: number;
  /** The lease in ms; -1: the watchdog renews it; `null`: permits that end only when released. */
  readonly leaseMs: number | null;
  /** How often the watchdog has renewed it. */
  readonly renewals: number;
  /** The line that acquired it, if the client records call sites. */
  readonly callSite?: string;
}

/** Callers that wait for one object. */
export interface ClientWait {
  readonly name: string;
  readonly key: string;
  readonly kind: ObjectKind;
  /** How many callers wait. */
  readonly callers: number;
  /** How long the longest of them has waited, in ms. */
  readonly waitedMs: number;
  /** What the callers hold meanwhile, each lock once. Other callers may wait for these locks. */
  readonly holding: readonly HeldByWaiter[];
  /** The line that waits longest, if the client records call sites. */
  readonly callSite?: string;
}

/** What a client reports about itself. */
export interface ClientAnswer {
  readonly clientId: string;
  readonly host: string;
  readonly pid: number;
  /** How long the process has run, in ms. */
  readonly uptimeMs: number;
  /** The versions of Node and of this package. */
  readonly versions: { readonly node: string; readonly ioredisson: string };
  /** How late its event loop was when it was asked, in ms; and how busy it has been lately, from 0 to 1. */
  readonly eventLoop: { readonly delayMs: number; readonly utilization: number };
  /** Its holds, or a page of them. */
  readonly holds: readonly ClientHold[];
  /** Its waits, the longest first. */
  readonly waits: readonly ClientWait[];
  /** How many holds and waited-for objects there are in all. */
  readonly total: { readonly holds: number; readonly waits: number };
}

/** An answer on the wire. */
export interface Answer extends ClientAnswer {
  /** The {@link Question.id}. */
  readonly id: string;
}
