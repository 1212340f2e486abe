import type { CommandExecutor } from './CommandExecutor';
import type { ConnectionMonitor } from './ConnectionMonitor';
import type { Subscriber } from './Subscriber';

/** The connections of one client: for commands, and to listen. */
export interface Connections {
  readonly executor: CommandExecutor;
  readonly subscriber: Subscriber;
  readonly monitor: ConnectionMonitor;
}
