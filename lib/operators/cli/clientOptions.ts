import { type Command, Option } from 'commander';
import { pathToFileURL } from 'node:url';
import { Config, ConfigError, type RedissonOptions } from '../../index';

/** The address of Redis, as given on the command line. */
export interface ClientOptions {
  readonly url?: string;
  readonly config?: string;
}

/** Adds the options for the address of Redis. */
export function addClientOptions(command: Command): Command {
  return command
    .addOption(
      new Option('-u, --url <url>', 'where Redis is; others can see it in ps (default: REDIS_URL)').conflicts('config'),
    )
    .option(
      '-c, --config <redisson.yaml>',
      "Redisson's configuration file (YAML or JSON), or a module (.js, .mjs, .cjs)",
    );
}

/**
 * Loads the configuration that the options name. A module can hold settings that a Java file cannot, such as
 * `credentials`: its default export is what `Redisson.create` accepts.
 *
 * @returns `undefined` without options: then `REDIS_URL` applies, else `redis://127.0.0.1:6379`
 * @throws ConfigError when the file cannot be loaded
 */
export async function readClientOptions({
  url,
  config,
}: ClientOptions): Promise<Config | RedissonOptions | string | undefined> {
  if (config === undefined) return url;
  // As a URL: fromYAML would read the path of a missing file as YAML text.
  const file = pathToFileURL(config);
  if (!/\.[cm]?js$/.test(config)) return Config.fromYAML(file);
  try {
    const { default: given } = (await import(file.href)) as { default?: Promise<unknown> };
    if (given !== undefined) return (await given) as Config | RedissonOptions;
  } catch (error) {
    throw new ConfigError(`The configuration '${config}' cannot be loaded: ${(error as Error).message}`);
  }
  throw new ConfigError(`The configuration '${config}' exports nothing by default: export what Redisson.create takes`);
}
