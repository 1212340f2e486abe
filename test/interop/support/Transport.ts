/** A request to a driver, Java's or Node's; `test/interop/README.md` lists the operations. */
export interface DriverRequest {
  readonly op:
    | 'create'
    | 'call'
    | 'batch'
    | 'listen'
    | 'heard'
    | 'bench'
    | 'threadId'
    | 'clientId'
    | 'interrupt'
    | 'shutdown'
    | 'ping';
  readonly [field: string]: unknown;
}

/** What a driver answers; times are epoch milliseconds of this machine, with fractions. */
export interface DriverReply {
  readonly id: number;
  readonly ok: boolean;
  readonly result?: unknown;
  /** The name of the class of the error. */
  readonly error?: string;
  readonly message?: string;
  readonly startedAt: number;
  readonly endedAt: number;
}

/** Where requests go: a JVM, another Node process, or this one. */
export interface Transport {
  readonly side: 'java' | 'node';
  /** Resolves with the reply, good or bad; rejects only when the driver is gone. */
  request(request: DriverRequest): Promise<DriverReply>;
}
