package ioredisson.interop;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.TextNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.SynchronousQueue;
import org.redisson.api.RLock;

/**
 * Load that runs inside the JVM, so that the pipe costs nothing. The Node side has the same four kinds with the same
 * parameters and the same results ({@code test/interop/support/nodeBench.ts}):
 *
 * <ul>
 *   <li>{@code sequential}: {@code n} times lock + unlock by one thread, after {@code warmup} rounds;
 *   <li>{@code hot}: {@code threads} threads on one lock (or one each, when the name holds {@code %d}) for
 *       {@code durationMs}, each staying inside for {@code insideMs}; see {@link HotLock};
 *   <li>{@code wakeup}: how long after unlock() the one waiter of another client is inside;
 *   <li>{@code drain}: how long {@code waiters} waiting threads need to pass one after the other.
 * </ul>
 */
final class Bench {
    private Bench() {}

    static Map<String, Object> run(Clients clients, Calls calls, JsonNode request) throws Exception {
        String kind = request.path("kind").asText();
        return switch (kind) {
            case "sequential" -> sequential(calls, request);
            case "hot" -> new HotLock(clients, calls, request).run();
            case "wakeup" -> wakeup(calls, request);
            case "drain" -> drain(calls, request);
            default -> throw new IllegalArgumentException("unknown bench '" + kind + "'");
        };
    }

    /** The lock of the request; {@code %d} in its name becomes {@code index}. */
    static RLock lock(Calls calls, String client, JsonNode path, int index) throws Exception {
        return (RLock) calls.resolve(client, substitute(path, index));
    }

    private static JsonNode substitute(JsonNode node, int index) {
        if (node.isTextual()) {
            return TextNode.valueOf(node.asText().replace("%d", Integer.toString(index)));
        }
        if (!node.isArray()) {
            return node;
        }
        var copy = JsonNodeFactory.instance.arrayNode();
        node.forEach(element -> copy.add(substitute(element, index)));
        return copy;
    }

    private static Map<String, Object> sequential(Calls calls, JsonNode request) throws Exception {
        int n = request.path("n").asInt(2000);
        RLock lock = lock(calls, request.path("client").asText(), request.get("object"), 0);
        for (int i = 0; i < request.path("warmup").asInt(0); i++) {
            lock.lock();
            lock.unlock();
        }
        long start = System.nanoTime();
        for (int i = 0; i < n; i++) {
            lock.lock();
            lock.unlock();
        }
        double elapsed = millisSince(start);
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("n", n);
        result.put("elapsedMs", elapsed);
        result.put("perSecond", n * 1000.0 / elapsed);
        return result;
    }

    private static Map<String, Object> wakeup(Calls calls, JsonNode request) throws Exception {
        int rounds = request.path("rounds").asInt(100);
        int warmup = request.path("warmup").asInt(0);
        long settle = request.path("settleMs").asLong(10);
        String client = request.path("client").asText();
        RLock held = lock(calls, client, request.get("object"), 0);
        RLock awaited = lock(calls, request.path("waiterClient").asText(client), request.get("object"), 0);
        SynchronousQueue<Boolean> entering = new SynchronousQueue<>();
        SynchronousQueue<Long> inside = new SynchronousQueue<>();
        Thread waiter = new Thread(() -> {
            try {
                while (entering.take()) {
                    awaited.lock();
                    long at = System.nanoTime();
                    awaited.unlock();
                    inside.put(at);
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        waiter.start();
        double[] latencies = new double[rounds];
        for (int i = -warmup; i < rounds; i++) {
            held.lock();
            entering.put(true);
            // Long enough for the waiter's two attempts and its subscription.
            Thread.sleep(settle);
            long from = System.nanoTime();
            held.unlock();
            double took = (inside.take() - from) / 1e6;
            if (i >= 0) {
                latencies[i] = took;
            }
        }
        entering.put(false);
        waiter.join();
        return percentiles(latencies);
    }

    private static Map<String, Object> drain(Calls calls, JsonNode request) throws Exception {
        int waiters = request.path("waiters").asInt(100);
        String client = request.path("client").asText();
        List<Double> rounds = new ArrayList<>();
        for (int round = 0; round < request.path("rounds").asInt(1); round++) {
            RLock gate = lock(calls, client, request.get("object"), 0);
            gate.lock();
            CountDownLatch passed = new CountDownLatch(waiters);
            for (int i = 0; i < waiters; i++) {
                RLock lock = lock(calls, client, request.get("object"), 0);
                new Thread(() -> {
                    lock.lock();
                    lock.unlock();
                    passed.countDown();
                }).start();
            }
            Thread.sleep(request.path("settleMs").asLong(1000));
            long start = System.nanoTime();
            gate.unlock();
            passed.await();
            rounds.add(millisSince(start));
        }
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("waiters", waiters);
        result.put("roundsMs", rounds);
        return result;
    }

    static double millisSince(long nanos) {
        return (System.nanoTime() - nanos) / 1e6;
    }

    static Map<String, Object> percentiles(double[] values) {
        Arrays.sort(values);
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("n", values.length);
        for (int p : new int[] {50, 90, 99}) {
            result.put("p" + p, values[Math.min(values.length - 1, values.length * p / 100)]);
        }
        result.put("max", values[values.length - 1]);
        return result;
    }
}
