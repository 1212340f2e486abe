/** One process of the fleet: a NestJS service as docs/nestjs.md builds it. `main.ts` starts three. */
import 'reflect-metadata';
import {
  type BeforeApplicationShutdown,
  ConflictException,
  Controller,
  Get,
  Inject,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  Param,
  Post,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { register } from 'prom-client';
import { PrefixNameMapper, type RedissonClient, ShutdownError } from '../../lib';
import { REDISSON, RedissonModule, WithLock } from '../../lib/integrations/nestjs';
import { collectLockMetrics } from '../../lib/integrations/prometheus';
import { Books } from './books';

/** What a process reports to `main.ts`. */
export type News =
  | { readonly event: 'ready'; readonly port: number }
  | { readonly event: 'lost'; readonly lock: string }
  | { readonly event: 'importing' | 'reported' }
  | { readonly event: 'draining'; readonly holds: readonly string[] };

/** How long a payment takes, in ms. */
const PAYMENT_MS = 150;
/** An import is so many batches. */
const BATCHES = 4;
const BATCH_MS = 400;
/** The cron: at each full multiple of so many ms. */
const REPORT_EVERY_MS = 5_000;

const url = process.env['REDIS_URL']!;
const prefix = process.env['FLEET_PREFIX']!;
const books = new Books(new Redis(url), prefix);
/** The locks that this process holds, by name. */
const holds = new Set<string>();

function tell(news: News): void {
  if (process.connected) process.send!(news);
}

/** Runs `work` with the name among {@link holds}. */
async function holding<T>(name: string, work: () => Promise<T>): Promise<T> {
  holds.add(name);
  try {
    return await work();
  } finally {
    holds.delete(name);
  }
}

@Controller()
class OrdersController {
  /** A customer clicks twice, and the clicks reach two processes: one pays, the other answers 409. */
  @Post('orders/:id/pay')
  @WithLock((id: string) => `order:${id}`, { waitTime: 0, http: true })
  async pay(@Param('id') id: string): Promise<{ paid: string; by: number }> {
    return holding(`order:${id}`, async () => {
      if (await books.isPaid(id)) throw new ConflictException(`order ${id} is paid`);
      await sleep(PAYMENT_MS);
      await books.pay(id);
      return { paid: id, by: process.pid };
    });
  }

  /** What `/metrics` of the fleet is made of. */
  @Get('metrics.json')
  metrics(): Promise<object[]> {
    return register.getMetricsAsJSON();
  }
}

/** Each process wants to import all the time. The fair lock lets one at a time, in turn. */
@Injectable()
class Imports implements OnApplicationBootstrap, BeforeApplicationShutdown {
  constructor(@Inject(REDISSON) private readonly redisson: RedissonClient) {}

  onApplicationBootstrap(): void {
    this.redisson.onLockLost(({ name }) => tell({ event: 'lost', lock: name }));
    void this.run();
  }

  /** The module shuts its client down with a drain at the same time: waits end, and what is held goes on. */
  beforeApplicationShutdown(): void {
    tell({ event: 'draining', holds: [...holds] });
  }

  private async run(): Promise<void> {
    const lock = this.redisson.getFairLock('import');
    try {
      for (;;) await lock.withLock((hold) => holding('import', () => this.import(hold.signal)));
    } catch (error) {
      // The wait has ended because this process shuts down: the next one in the queue imports.
      if (!(error instanceof ShutdownError)) throw error;
    }
  }

  private async import(signal: AbortSignal): Promise<void> {
    tell({ event: 'importing' });
    await books.beginImport();
    for (let batch = 0; batch < BATCHES; batch++) await sleep(BATCH_MS, undefined, { signal });
    await books.finishImport();
  }
}

/** A job that runs once in the fleet. In a real service, `@Cron` of @nestjs/schedule stands above `@WithLock`. */
@Injectable()
class Reports implements OnApplicationBootstrap {
  onApplicationBootstrap(): void {
    const next = (): number => REPORT_EVERY_MS - (Date.now() % REPORT_EVERY_MS);
    const tick = (): void => {
      this.report().catch((error: unknown) => {
        if (!(error instanceof ShutdownError)) throw error;
      });
      setTimeout(tick, next());
    };
    setTimeout(tick, next());
  }

  @WithLock('report', { skip: true, atLeast: REPORT_EVERY_MS / 2 })
  private async report(): Promise<void> {
    tell({ event: 'reported' });
  }
}

@Module({
  imports: [RedissonModule.forRoot({ url, nameMapper: new PrefixNameMapper(prefix), shutdownDrain: 10_000 })],
  controllers: [OrdersController],
  providers: [Imports, Reports],
})
class AppModule {}

async function main(): Promise<void> {
  // The fleet ends with main.ts, however that ends.
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  collectLockMetrics({ nameOf: (name) => name.replace(prefix, '').split(':')[0] });
  register.setDefaultLabels({ process: process.env['FLEET_NUMBER'] });
  const app = await NestFactory.create(AppModule, { logger: ['error'] });
  app.enableShutdownHooks(['SIGTERM']);
  await app.listen(0, '127.0.0.1');
  const { port } = (app.getHttpServer() as { address(): AddressInfo }).address();
  tell({ event: 'ready', port });
}

void main();
