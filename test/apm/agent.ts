import type { Agent } from './TracedCommand';

/** The agent that watches this process. Loaded before everything that it watches. */
// eslint-disable-next-line @typescript-eslint/no-require-imports
export const agent = require(`./agents/${process.env['APM_AGENT']}.cjs`) as Agent;
