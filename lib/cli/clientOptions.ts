import { type Command, Option } from 'commander';
import { pathToFileURL } from 'node:url';
import { Config } from '../index';

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
    .option('-c, --config <redisson.yaml>', "Redisson's configuration file (YAML or JSON)");
}

/**
 * The configuration that the options name.
 * @returns `undefined` where they name none: `REDIS_URL`, else `redis://127.0.0.1:6379`
 * @throws ConfigError when the file cannot be read or the URL is none
 */
export function readClientOptions({ url, config }: ClientOptions): Config | string | undefined {
  // As a URL: what does not exist is not taken for the text itself.
  return config === undefined ? url : Config.fromYAML(pathToFileURL(config));
}
