/** One process of the fleet of `main.ts`: a NestJS service with a locked handler, and a job that runs once per tick. */
import 'reflect-metadata';
import { Controller, Injectable, Module, Param, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { DisLock, LockTimeoutError, type RedissonClient } from '../../lib';
import { REDISSON, RedissonModule, WithLock } from '../../lib/nestjs';

@Controller('orders')
class OrdersController {
  /** Of the requests for one order that come at once, one pays; the others are told 409. */
  @Post(':id/pay')
  @WithLock((id: string) => `order:${id}`, { waitTime: 0, http: true })
  async pay(@Param('id') id: string): Promise<{ paid: string }> {
    await sleep(4_000); // the payment
    return { paid: id };
  }
}

@Injectable()
class ReportJob {
  /**
   * The whole fleet calls this at each tick, and one of them runs it: the lock is not released at the end, but runs out
   * long after everybody has tried.
   */
  @DisLock({ key: (tick: number) => `report:${tick}`, waitTime: 0, expire: 60_000, ifExpireWhenFinish: false })
  async run(tick: number): Promise<void> {
    process.send!({ ran: tick });
  }
}

@Module({
  imports: [RedissonModule.forRoot({ url: process.env['REDIS_URL'] })],
  controllers: [OrdersController],
  providers: [ReportJob],
})
class AppModule {}

async function main(): Promise<void> {
  const app = await NestFactory.create(AppModule, { logger: false });
  DisLock.use(app.get<RedissonClient>(REDISSON));
  await app.listen(0, '127.0.0.1');
  const job = app.get(ReportJob);
  // The parent is the clock of the fleet; in a real one this is a cron of @nestjs/schedule.
  process.on('message', ({ tick }: { readonly tick: number }) => {
    void job
      .run(tick)
      .catch((error: unknown) => {
        if (!(error instanceof LockTimeoutError)) throw error;
      })
      .then(() => process.send!({ done: tick }));
  });
  process.once('disconnect', () => void app.close());
  const { port } = (app.getHttpServer() as { address(): AddressInfo }).address();
  process.send!({ port });
}

void main();
