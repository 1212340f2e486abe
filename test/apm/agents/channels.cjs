'use strict';
// ioredis' own tracing channels; a span is what an AsyncLocalStorage says at the start of a command.
const { AsyncLocalStorage } = require('node:async_hooks');
const { tracingChannel } = require('node:diagnostics_channel');

const callers = new AsyncLocalStorage();
const seen = [];
const bySource = new Map();
tracingChannel('ioredis:command').subscribe({
  start(message) {
    const command = { text: [message.command, ...message.args].join(' '), name: message.command };
    seen.push(Object.assign(command, { parent: callers.getStore() }));
    bySource.set(message, command);
  },
  end() {},
  asyncStart() {},
  asyncEnd() {},
  error(message) {
    bySource.get(message).error = message.error.message;
  },
});

exports.inSpan = (name, fn) => callers.run(name, fn);
exports.commands = async () => seen;
