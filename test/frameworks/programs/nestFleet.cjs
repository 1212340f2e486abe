// What docs/nestjs.md promises, of the service on that page: two instances of it, and one with a client in memory.
require('reflect-metadata');
const { NestFactory } = require('@nestjs/core');
const { SchedulerRegistry } = require('@nestjs/schedule');
const { Redis } = require('ioredis');
const { Redisson } = require('ioredisson');
const { AppModule } = require('./app.module.js');
const { createApp, redisson: shared } = require('./app.test.js');
const { Reports } = require('./reports.service.js');

const logged = [];
const logger = {};
for (const level of ['error', 'warn', 'fatal']) logger[level] = (...all) => logged.push([level, ...all.map(String)]);
for (const level of ['log', 'debug', 'verbose']) logger[level] = () => undefined;

async function main() {
  const report = {};
  const fleet = [];
  for (let i = 0; i < 2; i++) {
    const app = await NestFactory.create(AppModule, { logger });
    await app.listen(0, '127.0.0.1');
    fleet.push(app);
  }
  const [app] = fleet;
  const { port } = app.getHttpServer().address();
  const post = async (path, body = {}, headers = {}) => {
    const response = await fetch(`http://127.0.0.1:${port}/${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', connection: 'close', ...headers },
    });
    return [response.status, await response.json()];
  };
  const tick = () => {
    for (const one of fleet) one.get(SchedulerRegistry).getCronJob('daily-report').fireOnTick();
  };
  const sent = () => fleet.reduce((sum, one) => sum + one.get(Reports).sent, 0);

  // A tick does not wait for its jobs.
  tick();
  while (sent() === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  report.sent = [sent()];
  tick();
  // Calls that come behind those of the tick, on the same connections.
  for (const one of fleet) await one.get(Reports).send();
  report.sent.push(sent());

  const payment = { account: 'alice', amount: 7 };
  report.paid = await post('orders/1/pay', payment, { 'x-user': 'bob' });
  report.refunded = await post('orders/1/refund', payment);
  report.cancelled = await post('orders/1/cancel');
  const health = await fetch(`http://127.0.0.1:${port}/health`, { headers: { connection: 'close' } });
  report.health = [health.status, (await health.json()).redis.status];

  const other = Redisson.create(process.env.REDIS_URL);
  await other.getLock('order:1').withLock(async () => {
    report.conflict = await post('orders/1/pay', payment);
    report.another = (await post('orders/2/pay', payment))[0];
  });
  await other.getLock('account:alice').withLock(async () => {
    report.refund = (await post('orders/1/refund', payment))[0];
  });
  const admin = new Redis(process.env.REDIS_URL);
  await admin.client('PAUSE', 2_800, 'ALL');
  report.unanswered = (await post('orders/9/pay', payment))[0];
  await admin.quit();
  await other.getLock('order:1').withLock(async () => {
    const waiting = post('orders/1/pay', payment);
    const queued = async () => (await post('orders/3/pay', payment))[0];
    while ((await queued()) !== 201);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await app.close();
    report.shutDown = await waiting;
  });
  await fleet[1].close();
  await other.getLock('daily-report').forceUnlock();

  // The client of the tests.
  let made = 0;
  const { create } = Redisson;
  Redisson.create = (...args) => {
    made += 1;
    return create.apply(Redisson, args);
  };
  for (let i = 0; i < 2; i++) {
    const tested = await createApp();
    await tested.init();
    await tested.get(Reports).send();
    report.inMemory = shared.holders('daily-report').length;
    await tested.close();
    shared.reset();
  }
  report.made = made;
  report.shared = [shared.state, await shared.getLock('a').tryLock()];
  report.logged = logged;
  await other.shutdown();
  console.log(JSON.stringify(report));
}

void main();
