import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import * as path from 'node:path';
import type { Random } from '../faults/Random';
import type { ClientOptions, ClientOrder, ClientReport } from './client';
import type { Recorder } from './Recorder';
import type { Letter } from './TicketActor';

/** What a {@link Fleet} is made of. */
export interface FleetOptions {
  /** The bundle of `client.ts`. */
  readonly program: string;
  /** Where the histories go. */
  readonly folder: string;
  /** Each process has one of them. */
  readonly urls: readonly string[];
  readonly processes: number;
  /** Of each process. */
  readonly clients: number;
  /** Of each client. */
  readonly actors: number;
}

interface Member {
  readonly number: number;
  readonly child: ChildProcess;
  done: number;
  /** Runs while it is stopped. */
  thaw: NodeJS.Timeout | undefined;
}

/** The processes of a history: killed ones are replaced. */
export class Fleet {
  readonly #options: FleetOptions;
  readonly #random: Random;
  readonly #recorder: Recorder;
  readonly #members = new Set<Member>();
  #started = 0;
  /** What those have done that are gone. */
  #before = 0;
  #stopping = false;

  constructor(options: FleetOptions, random: Random, recorder: Recorder) {
    this.#options = options;
    this.#random = random;
    this.#recorder = recorder;
    for (let i = 0; i < options.processes; i++) this.#start();
  }

  /** How many calls have ended, at least. */
  get done(): number {
    return [...this.#members].reduce((sum, { done }) => sum + done, this.#before);
  }

  /** How many processes there have been. */
  get started(): number {
    return this.#started;
  }

  /** SIGKILL for one of them, and another takes its place. */
  async killOne(): Promise<void> {
    const member = this.#anyone();
    if (member === undefined) return;
    // Before it is killed: what it has written is from before.
    this.#recorder.note('killed', undefined, member.number);
    const exited = once(member.child, 'exit');
    member.child.kill('SIGKILL');
    await exited;
  }

  /** SIGSTOP for one of them, and SIGCONT after so many ms. */
  freezeOne(ms: number): void {
    const member = this.#anyone();
    if (member === undefined) return;
    member.child.kill('SIGSTOP');
    member.thaw = setTimeout(() => this.#thaw(member), ms);
  }

  /** Lets all of them come to an end. */
  async stop(): Promise<void> {
    this.#stopping = true;
    const members = [...this.#members];
    for (const member of members) this.#thaw(member);
    await Promise.all(
      members.map(async ({ child }) => {
        const exited = once(child, 'exit');
        send(child, 'stop');
        await exited;
      }),
    );
  }

  /** Ends what is left of it, at once. */
  kill(): void {
    this.#stopping = true;
    for (const { child, thaw } of this.#members) {
      clearTimeout(thaw);
      child.kill('SIGKILL');
    }
  }

  #anyone(): Member | undefined {
    const running = [...this.#members].filter(({ thaw }) => thaw === undefined);
    return running.length === 0 ? undefined : this.#random.of(running);
  }

  /** A ticket goes to one process, whichever, and now and then to a second one: only one of them can use it. */
  #deliver(letter: Letter): void {
    const members = [...this.#members];
    if (members.length === 0) return;
    for (let i = this.#random.chance(15) ? 2 : 1; i > 0; i--) send(this.#random.of(members).child, letter);
  }

  #thaw(member: Member): void {
    if (member.thaw === undefined) return;
    clearTimeout(member.thaw);
    member.thaw = undefined;
    member.child.kill('SIGCONT');
  }

  #start(): void {
    const { program, folder, urls, clients, actors } = this.#options;
    const number = ++this.#started;
    const options: ClientOptions = {
      url: urls[number % urls.length]!,
      seed: this.#random.between(1, 0x7fffffff),
      process: number,
      file: path.join(folder, `${number}.jsonl`),
      clients,
      actors,
    };
    const child = fork(program, [JSON.stringify(options)], {
      execArgv: ['--enable-source-maps'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const member: Member = { number, child, done: 0, thaw: undefined };
    this.#members.add(member);
    child.on('message', (report: ClientReport) => {
      if (typeof report === 'number') member.done = report;
      else this.#deliver(report);
    });
    child.on('exit', (code, signal) => {
      this.#members.delete(member);
      this.#before += member.done;
      if (signal !== 'SIGKILL' && code !== 0) this.#recorder.note('wrong', `process ${number} ended with ${code}`);
      if (!this.#stopping) this.#start();
    });
  }
}

/** To one that is gone it is lost. */
function send(child: ChildProcess, order: ClientOrder): void {
  if (child.connected) child.send(order, () => undefined);
}
