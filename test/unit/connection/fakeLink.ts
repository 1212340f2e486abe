import type { Link, LinkEvents, ReplicaAck } from '../../../lib/connection/link/Link';
import { defineScript, type Resend, type ScriptDefinition } from '../../../lib/scripts/Script';

/** One command a {@link FakeLink} was given, and how to answer it. */
export interface Sent {
  readonly command: string;
  readonly args: readonly unknown[];
  readonly key: string | undefined;
  readonly replicaAck: ReplicaAck | undefined;
  resolve(reply: unknown): void;
  reject(error: Error): void;
}

/** A link whose connection the test makes and breaks, and whose answers the test gives. */
export class FakeLink implements Link {
  events: LinkEvents | undefined;
  ready = true;
  readonly publishCommand = 'PUBLISH';
  readonly address = 'fake:1';
  syncTimeout = 0;
  refusal: Error | undefined;
  lastError: Error | undefined;
  /** Everything that was sent, in order. */
  readonly sent: Sent[] = [];
  /** What {@link unanswered} was told. */
  readonly silences: number[] = [];
  /** Keys that cannot be sent now. */
  readonly blocked = new Set<string>();
  up: boolean;
  closed = false;

  constructor(up = true) {
    this.up = up;
  }

  /** The command that was sent last. */
  get last(): Sent {
    const last = this.sent.at(-1);
    if (last === undefined) throw new Error('nothing was sent');
    return last;
  }

  canSend(key: string | undefined): boolean {
    return this.up && !this.blocked.has(key ?? '');
  }

  send(
    command: string,
    args: unknown[],
    key: string | undefined,
    replicaAck: ReplicaAck | undefined,
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.sent.push({ command, args, key, replicaAck, resolve, reject });
    });
  }

  /** The connection opens. */
  open(): void {
    this.up = true;
    this.events?.ready();
  }

  /** The connection breaks: what is under way is rejected, as ioredis does. */
  break(): void {
    this.up = false;
    this.events?.lost();
    for (const { reject } of this.sent) reject(new Error('Connection is closed.'));
  }

  unanswered(_key: string | undefined, sentAt: number): void {
    this.silences.push(sentAt);
  }

  close(): Promise<void> {
    this.closed = true;
    return Promise.resolve();
  }
}

/** An error reply as ioredis gives it. */
export function reply(message: string): Error {
  return Object.assign(new Error(message), { name: 'ReplyError' });
}

/** A script that gives its reply as its value. */
export function script(resend: Resend, more: Partial<ScriptDefinition<'name', 'arg', unknown>> = {}) {
  return defineScript({
    name: `script.${resend}`,
    keys: ['name'],
    args: ['arg'],
    lua: 'return 1',
    resend,
    decode: (value: unknown) => value,
    ...more,
  });
}
