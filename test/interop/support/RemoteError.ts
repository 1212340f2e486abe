import type { DriverReply } from './Transport';

/** An operation that failed on its side. */
export class RemoteError extends Error {
  /** As its side names it: `java.lang.IllegalMonitorStateException`, `IllegalMonitorStateError`. */
  readonly className: string;
  /** The same for both sides: `IllegalMonitorState`. */
  readonly kind: string;

  constructor(reply: DriverReply) {
    super(reply.message ?? '');
    this.name = 'RemoteError';
    this.className = reply.error ?? 'unknown';
    this.kind = this.className.replace(/^.*\./, '').replace(/(Exception|Error)$/, '');
  }

  override toString(): string {
    return `${this.className}: ${this.message}`;
  }
}
