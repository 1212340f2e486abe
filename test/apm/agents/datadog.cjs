'use strict';
// dd-trace without an agent to report to: spans are taken where it would hand them to its exporter.
process.env.DD_TRACE_EXPERIMENTAL_EXPORTER = 'log';
process.env.DD_INSTRUMENTATION_TELEMETRY_ENABLED = 'false';
process.env.DD_REMOTE_CONFIGURATION_ENABLED = 'false';
process.env.DD_TRACE_STARTUP_LOGS = 'false';
const printed = [];
const write = process.stdout.write.bind(process.stdout);
// Its log exporter prints one line of JSON for each trace, which is a trace of ours or nothing.
process.stdout.write = (text, ...more) => {
  if (!String(text).startsWith('{"traces"')) return write(text, ...more);
  printed.push(...JSON.parse(String(text)).traces.flat());
  return true;
};
const tracer = require('dd-trace').init({ flushInterval: 0 });

exports.inSpan = (name, fn) => tracer.trace('test.caller', { resource: name }, () => fn());

exports.commands = async () => {
  const callers = new Map(printed.filter(({ name }) => name === 'test.caller').map((s) => [s.span_id, s.resource]));
  return printed
    .filter(({ name }) => name === 'redis.command')
    .map((span) => ({
      text: span.meta['redis.raw_command'] ?? '',
      name: span.resource,
      parent: callers.get(span.parent_id),
      error: span.error === 1 ? span.meta['error.message'] : undefined,
    }));
};
