import type { ObjectKind } from '../api';

/**
 * The questions that an inspector publishes to a client, and the answers, as JSON. A question goes to the channel of the
 * client, and names the channel of its answer. Readers ignore fields that they do not know.
 */

/** The channel that a client listens to while it has held, or waited, for {@link NOTEWORTHY_MS}. */
export function clientChannel(clientId: string): string {
  return `ioredisson:client:{${clientId}}`;
}

/** The channel that the answers to an inspector come on. @param id - a UUID */
export function answerChannel(id: string): string {
  return `ioredisson:answer:{${id}}`;
}

/** The only channels that an answer is published to: a question must not make a client write anywhere else. */
export const ANSWER_CHANNEL = /^ioredisson:answer:\{[0-9a-f-]{36}\}$/;

/** From so long on (ms) a hold or a wait is worth a question. */
export const NOTEWORTHY_MS = 5_000;

/** The most holds, and the most waits, of one answer. */
export const PAGE_SIZE = 500;

/** The most values of a group that are told of one hold or one wait. */
export const MAX_VALUES = 100;

/** What an inspector asks. */
export interface Question {
  /** Comes back in the answer. */
  readonly id: string;
  /** The channel of the answer. */
  readonly to: string;
  /** Only holds of these keys. @default all, a page of them */
  readonly keys?: readonly string[];
  /** How many holds to leave out: those of earlier pages. @default 0 */
  readonly from?: number;
}

/** A lock of which the caller of a wait has a hold. */
export interface HeldAround {
  readonly name: string;
  readonly key: string;
  /** Its owner on the wire. */
  readonly owner: string;
  /** Of a group: the fields of the values that are held. Absent: more than 100, which are not told. */
  readonly values?: readonly string[];
}

/** A lock that the caller of a wait holds meanwhile. */
export interface HeldByWaiter extends HeldAround {
  /** If it waits for values of a group: the fields of those that others must give back. As of {@link values}. */
  readonly wants?: readonly string[];
}

/** A hold, as its client knows it. */
export interface ClientHold extends HeldAround {
  readonly kind: ObjectKind;
  readonly threadId: number;
  /** How often its thread holds it. */
  readonly count: number;
  /** How long the oldest of these holds has been there, in ms. */
  readonly heldMs: number;
  /** The lease in ms; -1: the watchdog renews it; `null`: permits that end only when given back. */
  readonly leaseMs: number | null;
  /** How often the watchdog has renewed it. */
  readonly renewals: number;
  /** The line that acquired it, where the client records that. */
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
  /** What the callers hold meanwhile, each lock once; others may wait for that. */
  readonly holding: readonly HeldByWaiter[];
  /** The line that waits longest, where the client records that. */
  readonly callSite?: string;
}

/** What a client says of itself. */
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
  /** Its waiters, those that have waited longest first. */
  readonly waits: readonly ClientWait[];
  /** How many holds and waited-for objects there are in all. */
  readonly total: { readonly holds: number; readonly waits: number };
}

/** An answer on the wire. */
export interface Answer extends ClientAnswer {
  /** The {@link Question.id}. */
  readonly id: string;
}
