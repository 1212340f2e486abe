// An application of NestJS, compiled with legacy decorators by tsc or swc; prints what happened.
import 'reflect-metadata';
import { Controller, type INestApplication, Injectable, Module, Param, Post, SetMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redisson, type RedissonClient } from 'ioredisson';
import { InjectRedisson, RedissonHealthIndicator, RedissonModule, WithLock } from 'ioredisson/nestjs';
import { setTimeout as sleep } from 'node:timers/promises';

const lockName = process.env['LOCK_NAME']!;
const url = process.env['REDIS_URL']!;

@Injectable()
class Settings {
  readonly url = url;
}

@Module({ providers: [Settings], exports: [Settings] })
class SettingsModule {}

@Injectable()
class Stock {
  inside = 0;
  most = 0;
  sold = 0;

  constructor(
    @InjectRedisson() readonly redisson: RedissonClient,
    readonly sameByClass: Redisson,
  ) {}

  @WithLock((item: string) => `${lockName}:${item}`)
  async sell(item: string): Promise<string> {
    this.inside += 1;
    this.most = Math.max(this.most, this.inside);
    const { sold } = this;
    await this.redisson.ping();
    this.sold = sold + 1;
    this.inside -= 1;
    return item;
  }

  @WithLock(lockName, { waitTime: 0 })
  async tries(): Promise<void> {}

  @WithLock(lockName)
  async waits(): Promise<void> {}

  // The key function takes fewer parameters than the method.
  @WithLock((day: string) => `${lockName}:cron:${day}`, { skip: true, atLeast: 60_000 })
  async cron(day: string, _at: Date): Promise<string> {
    return day;
  }
}

@Controller('stock')
class StockController {
  constructor(private readonly stock: Stock) {}

  @Post('sell/:item')
  @WithLock(`${lockName}:http`, { waitTime: 0, http: true })
  async sell(@Param('item') item: string): Promise<{ item: string }> {
    return { item: await this.stock.sell(item) };
  }

  @WithLock((item: string) => `${lockName}:${item}`, { waitTime: 0, http: true })
  @SetMetadata('mark', 'stays')
  @Post('own/:item')
  async own(@Param('item') item: string): Promise<{ item: string }> {
    // A time-out of its own is no conflict of the handler's lock.
    await this.stock.tries();
    return { item };
  }
}

@Module({
  imports: [
    RedissonModule.forRootAsync({
      imports: [SettingsModule],
      inject: [Settings],
      useFactory: (settings: Settings) => ({ url: settings.url, shutdownDrain: 5_000 }),
    }),
  ],
  controllers: [StockController],
  providers: [Stock],
})
class AppModule {}

async function codeOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => 'resolved',
    (error: { code?: string; message: string }) => error.code ?? error.message,
  );
}

async function main(): Promise<void> {
  const app: INestApplication = await NestFactory.create(AppModule, { logger: false });
  await app.listen(0, '127.0.0.1');
  const address = (app.getHttpServer() as { address(): { port: number } }).address();
  const post = async (path: string): Promise<number> =>
    (await fetch(`http://127.0.0.1:${address.port}/stock/${path}`, { method: 'POST' })).status;
  const stock = app.get(Stock);
  const other = Redisson.create(url);
  const report: Record<string, unknown> = {
    sameClient: stock.redisson === stock.sameByClass,
    health: Object.keys((await app.get(RedissonHealthIndicator).check('redis'))['redis']).sort(),
    metadata: Reflect.getMetadata('mark', StockController.prototype.own) as unknown,
    params: (Reflect.getMetadata('design:paramtypes', StockController.prototype, 'own') as unknown[] | undefined)
      ?.length,
  };
  await Promise.all(Array.from({ length: 10 }, () => stock.sell('apple')));
  report['most'] = stock.most;
  report['sold'] = stock.sold;
  const now = new Date();
  report['cron'] = await Promise.all([1, 2].map(() => stock.cron('monday', now)));
  report['cron'] = [...(report['cron'] as (string | undefined)[]), await stock.cron('monday', now)]
    .map((day) => day ?? 'skipped')
    .sort();
  report['ok'] = [await post('sell/apple'), await post('own/pear')];
  await other.getLock(`${lockName}:http`).withLock(async () => {
    report['conflict'] = await post('sell/apple');
  });
  await other.getLock(lockName).withLock(async () => {
    report['service'] = await codeOf(stock.tries());
    report['ownTimeout'] = await post('own/pear');
  });
  report['unmade'] = await codeOf(new Stock(other, other).tries());

  // The application ends: a waiter is rejected, and what is held may be given back.
  const waiter = await other.getLock(lockName).withLock(async () => {
    const waiting = codeOf(stock.waits());
    const hold = await stock.redisson.getLock(`${lockName}:held`).acquire();
    let closed = false;
    const closing = app.close().then(() => void (closed = true));
    const outcome = await waiting;
    await sleep(50);
    report['closedEarly'] = closed;
    await hold.unlock();
    await closing;
    report['left'] = await other.getLock(`${lockName}:held`).isLocked();
    return outcome;
  });
  report['waiter'] = waiter;
  report['state'] = stock.redisson.state;
  await other.shutdown();
  console.log(JSON.stringify(report));
}

void main();
