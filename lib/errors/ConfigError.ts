import { RedissonError } from './RedissonError';

/**
 * A setting, an address or a name cannot be used. Thrown where the configuration is read, before any connection.
 * The message names the setting and the value, except for secrets.
 */
export class ConfigError extends RedissonError {
  readonly code = 'CONFIG';

  static {
    this.prototype.name = 'ConfigError';
  }
}
