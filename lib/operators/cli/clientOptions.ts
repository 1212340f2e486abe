import { type Command, Option } from 'commander';
import { pathToFileURL } from 'node:url';
import { Config, ConfigError, type RedissonOptions } from '../../index';

/** Where Redis is, as the command line says it. */
export interface ClientOptions {
  readonly url?: string;
  readonly config?: string;
}

/** Adds the options that say where Redis is. */
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
 * The configuration that the options name. A module can hold what a file of Java cannot, such as `credentials`: it
 * exports, by default, what `Redisson.create` takes.
 *
 * @returns `undefined` where they name none: `REDIS_URL`, else `redis://127.0.0.1:6379`
 * @throws ConfigError when the file cannot be read or the URL is none
 */
export async function readClientOptions({
  url,
  config,
}: ClientOptions): Promise<Config | RedissonOptions | string | undefined> {
  if (config === undefined) return url;
  // As a URL: what does not exist is not taken for the text itself.
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
