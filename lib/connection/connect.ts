import { Redis } from 'ioredis';
import type { Settings } from '../config/Settings';
import { tlsOptions } from '../config/tlsOptions';
import { ConnectionSubscriber } from './ConnectionSubscriber';
import { Executor } from './Executor';
import type { CommandExecutor } from './CommandExecutor';
import { ownOptions } from './ownOptions';
import { StandaloneLink } from './StandaloneLink';
import type { Subscriber } from './Subscriber';

/** The connections of one client: one for commands, one that listens. */
export interface Connections {
  readonly executor: CommandExecutor;
  readonly subscriber: Subscriber;
}

/** Opens the connections in the background; commands and subscriptions wait for them. */
export function connect(settings: Settings): Connections {
  const { topology } = settings;
  switch (topology.kind) {
    case 'single': {
      const { host, port } = topology.address;
      const open = (): Redis => new Redis({ ...redisOptions(settings), host, port });
      return standalone(settings, open, `${host}:${port}`);
    }
    case 'client': {
      const client = topology.client as Redis;
      const { host, port } = client.options;
      const open = (): Redis => client.duplicate({ ...ownOptions, ...nameOption(settings) });
      return standalone(settings, open, `${host ?? 'localhost'}:${port ?? 6379}`);
    }
    default:
      throw new Error(`not connected yet: ${topology.kind}`);
  }
}

function standalone(settings: Settings, open: () => Redis, address: string): Connections {
  const executor = new Executor(new StandaloneLink(open(), address), settings);
  return { executor, subscriber: new ConnectionSubscriber(open()) };
}

function redisOptions(settings: Settings) {
  return {
    ...ownOptions,
    ...nameOption(settings),
    connectTimeout: settings.connectTimeout,
    db: settings.database,
    ...(settings.username === undefined ? {} : { username: settings.username }),
    ...(settings.password === undefined ? {} : { password: settings.password.reveal() }),
    ...(settings.tls === undefined ? {} : { tls: tlsOptions(settings.tls) }),
  };
}

function nameOption(settings: Settings): { connectionName?: string } {
  return settings.clientName === undefined ? {} : { connectionName: settings.clientName };
}
