'use strict';
// OpenTelemetry's instrumentation of ioredis, with an exporter that keeps the spans.
// APM_INSTRUMENTATION: the package; APM_ROOTS=1: commands without a caller make spans, too (not the default).
const { context, trace } = require('@opentelemetry/api');
const { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } = require('@opentelemetry/sdk-trace-node');
const { IORedisInstrumentation } = require(process.env.APM_INSTRUMENTATION);

const exporter = new InMemorySpanExporter();
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
provider.register();
const instrumentation = new IORedisInstrumentation(process.env.APM_ROOTS === '1' ? { requireParentSpan: false } : {});
instrumentation.setTracerProvider(provider);
const tracer = provider.getTracer('test');
const callers = new Map();

exports.inSpan = async (name, fn) => {
  const span = tracer.startSpan(name);
  callers.set(span.spanContext().spanId, name);
  try {
    return await context.with(trace.setSpan(context.active(), span), fn);
  } finally {
    span.end();
  }
};

exports.commands = async () =>
  exporter
    .getFinishedSpans()
    .filter((span) => !callers.has(span.spanContext().spanId))
    .map((span) => ({
      text: span.attributes['db.query.text'] ?? span.attributes['db.statement'] ?? '',
      name: span.name,
      parent: callers.get(span.parentSpanContext?.spanId),
      error: span.status.message,
    }));
