import { type INestApplication, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { expect } from 'chai';
import express from 'express';
import { fastify } from 'fastify';
import type * as http from 'node:http';
import { ask, type RawAnswer, serve } from './support/world';
import { FakeSource, report } from './support/FakeSource';
import { changeHeaders, dashboardOf } from './support/world';
import type { Dashboard } from '../../lib/operators/dashboard';
import { trackClient } from '../support';

type Mount = (make: (basePath?: string) => Dashboard) => Promise<string>;

/** Where each mount has the dashboard: `/` or `/locks`. */
const MOUNTS: Readonly<Record<string, { readonly at: string; readonly mount: Mount; readonly elsewhere: string }>> = {
  'http, at the root': { at: '', mount: (make) => serve(make()), elsewhere: 'There is no such page.' },
  'http, below a path': { at: '/locks', mount: (make) => serve(make('/locks')), elsewhere: 'There is no such page.' },
  'http, with a handler after it': {
    at: '/locks',
    mount: (make) => {
      const dashboard = make('/locks/');
      return serve((req, res) => dashboard(req, res, () => void res.end('the app')));
    },
    elsewhere: 'the app',
  },
  'Express, app.use(dashboard)': {
    at: '',
    mount: (make) =>
      serve(
        express()
          .use(make())
          .use((_, res) => void res.end('the app')) as http.RequestListener,
      ),
    elsewhere: 'the app',
  },
  'Express, app.use(path, dashboard)': {
    at: '/locks',
    mount: (make) =>
      serve(
        express()
          .use('/locks', make())
          .use((_, res) => void res.end('the app')) as http.RequestListener,
      ),
    elsewhere: 'the app',
  },
  'Express, app.use(dashboard) with basePath': {
    at: '/locks',
    mount: (make) =>
      serve(
        express()
          .use(make('/locks'))
          .use((_, res) => void res.end('the app')) as http.RequestListener,
      ),
    elsewhere: 'the app',
  },
  'Express, both, behind a body parser and a router': {
    at: '/admin/locks',
    mount: (make) => {
      const router = express.Router().use('/locks', make('/locks'));
      const app = express().use(express.json()).use('/admin', router);
      return serve(app.use((_, res) => void res.end('the app')) as http.RequestListener);
    },
    elsewhere: 'the app',
  },
  'Fastify, in onRequest': {
    at: '/locks',
    mount: async (make) => {
      const app = fastify();
      const dashboard = make('/locks');
      app.addHook('onRequest', (request, reply, done) => dashboard(request.raw, reply.raw, done));
      app.get('/*', async () => 'the app');
      const address = await app.listen({ host: '127.0.0.1', port: 0 });
      trackClient({ stop: () => app.close() });
      return address;
    },
    elsewhere: 'the app',
  },
  'Nest, app.use(path, dashboard)': {
    at: '/locks',
    mount: (make) => nest((app) => app.use('/locks', make())),
    elsewhere: 'Cannot GET',
  },
  'Nest, behind a body parser, with a global prefix': {
    at: '/admin/locks',
    mount: (make) => nest((app) => app.setGlobalPrefix('api').use(express.json()).use(make('/admin/locks'))),
    elsewhere: 'Cannot GET',
  },
};

async function nest(mount: (app: INestApplication) => unknown): Promise<string> {
  class Root {}
  Module({})(Root);
  const app = await NestFactory.create(Root, { logger: false });
  trackClient({ stop: () => app.close() });
  await mount(app);
  await app.listen(0, '127.0.0.1');
  return app.getUrl();
}

describe('the dashboard: where it is mounted', () => {
  for (const [title, { at, mount, elsewhere }] of Object.entries(MOUNTS)) {
    it(title, async () => {
      const source = new FakeSource(report('a'));
      let dashboard: Dashboard | undefined;
      const origin = await mount((basePath) => {
        dashboard = dashboardOf(source, { readOnly: false, ...(basePath !== undefined && { basePath }) });
        return dashboard;
      });
      const base = origin + at;
      expect((await ask(`${base}/`)).text).to.contain('<!doctype html>');
      const list = await ask(`${base}/api/locks?sort=name`);
      expect((JSON.parse(list.text) as { rows: unknown[] }).rows).to.have.lengthOf(1);
      if (at !== '') {
        const { status, headers } = await ask(`${base}?x=1`);
        const to = new URL(headers.location!, `${base}?x=1`);
        expect([status, to.href]).to.deep.equal([302, `${base}/?x=1`]);
      }
      const body = JSON.stringify({ name: 'free', confirm: 'free', holders: null });
      const change = await ask(`${base}/api/unlock`, { method: 'POST', headers: await changeHeaders(base), body });
      expect([change.status, change.text]).to.deep.equal([200, '{"name":"free","released":false}']);
      const others: RawAnswer[] = [
        await ask(`${origin}/elsewhere`),
        await ask(`${base}/api/elsewhere`),
        await ask(`${origin}/locksmith`),
      ];
      for (const other of others) expect(other.text).to.contain(elsewhere);
      await dashboard!.close();
    });
  }

  it('a redirect leads nowhere else, whatever is asked for', async () => {
    const base = await serve(
      express()
        .use('/locks', dashboardOf(new FakeSource()))
        .use(dashboardOf(new FakeSource(), { basePath: '/a' })) as http.RequestListener,
    );
    for (const path of ['/locks', '/a', '/locks?next=//evil.example', '/a?//evil.example']) {
      const { headers, status } = await ask(base + path);
      expect(status).to.equal(302);
      expect(new URL(headers.location!, base + path).origin).to.equal(base);
    }
    for (const path of ['//evil.example/a', '//evil.example', '/\\evil.example', '/a/../b', '/%2f%2fevil.example']) {
      const { status, headers } = await ask(base + path);
      expect([path, status, headers.location]).to.deep.equal([path, 404, undefined]);
    }
  });
});
