package ioredisson.interop;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.redisson.api.RBucket;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;

/**
 * Threads that fight for one lock until the deadline. Every one reports what it got and how long it waited at most.
 *
 * <p>With {@code check: {client, counter, holder}} each stay inside proves that it is alone, over connections other
 * than the lock's: the holder key must be empty on the way in and ours on the way out, and a counter is read, then
 * written one higher without any atomicity. At the end the counter equals the number of stays, or two were inside.
 */
final class HotLock {
    private final String client;
    private final Calls calls;
    private final JsonNode request;
    private final long insideMs;
    private final RBucket<String> counter;
    private final RBucket<String> holder;
    private final AtomicInteger violations = new AtomicInteger();
    private final AtomicReference<String> firstError = new AtomicReference<>();

    HotLock(Clients clients, Calls calls, JsonNode request) {
        this.client = request.path("client").asText();
        this.calls = calls;
        this.request = request;
        this.insideMs = request.path("insideMs").asLong(0);
        JsonNode check = request.path("check");
        if (check.isMissingNode()) {
            counter = null;
            holder = null;
        } else {
            RedissonClient checker = clients.get(check.path("client").asText());
            counter = checker.getBucket(check.path("counter").asText(), StringCodec.INSTANCE);
            holder = checker.getBucket(check.path("holder").asText(), StringCodec.INSTANCE);
        }
    }

    /** What one thread got. */
    private static final class Share {
        int acquisitions;
        int late;
        double longestWaitMs;
        double totalWaitMs;
    }

    Map<String, Object> run() throws Exception {
        int threads = request.path("threads").asInt(25);
        double startAt = request.path("startAt").asDouble(0);
        Thread.sleep(Math.max(0, (long) (startAt - Driver.now())));
        long start = System.nanoTime();
        long deadline = start + request.path("durationMs").asLong(1000) * 1_000_000;
        List<Share> shares = new ArrayList<>();
        List<Thread> running = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            Share share = new Share();
            shares.add(share);
            RLock lock = Bench.lock(calls, client, request.get("object"), i);
            Thread thread = new Thread(() -> fight(lock, share, deadline), "hot-" + i);
            running.add(thread);
            thread.start();
        }
        for (Thread thread : running) {
            thread.join();
        }
        return report(shares, Bench.millisSince(start), Math.max(0, Bench.millisSince(deadline)));
    }

    private void fight(RLock lock, Share share, long deadline) {
        try {
            while (System.nanoTime() < deadline) {
                long from = System.nanoTime();
                lock.lock();
                double waited = Bench.millisSince(from);
                boolean late = System.nanoTime() >= deadline;
                try {
                    stay();
                } finally {
                    lock.unlock();
                }
                share.longestWaitMs = Math.max(share.longestWaitMs, waited);
                share.totalWaitMs += waited;
                if (late) {
                    share.late++;
                } else {
                    share.acquisitions++;
                }
            }
        } catch (Exception e) {
            firstError.compareAndSet(null, e.toString());
        }
    }

    private void stay() throws InterruptedException {
        if (holder == null) {
            pause();
            return;
        }
        String me = client + '/' + Thread.currentThread().getId();
        String before = holder.getAndSet(me);
        if (before != null && !before.isEmpty()) {
            violations.incrementAndGet();
        }
        String count = counter.get();
        pause();
        counter.set(Integer.toString((count == null ? 0 : Integer.parseInt(count)) + 1));
        if (!me.equals(holder.getAndSet(""))) {
            violations.incrementAndGet();
        }
    }

    private void pause() throws InterruptedException {
        if (insideMs > 0) {
            Thread.sleep(insideMs);
        }
    }

    private Map<String, Object> report(List<Share> shares, double elapsedMs, double drainMs) {
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("threads", shares.size());
        result.put("elapsedMs", elapsedMs);
        result.put("drainMs", drainMs);
        result.put("acquisitions", shares.stream().map(share -> share.acquisitions).toList());
        result.put("late", shares.stream().mapToInt(share -> share.late).sum());
        result.put("longestWaitMs", shares.stream().map(share -> share.longestWaitMs).toList());
        result.put("totalWaitMs", shares.stream().mapToDouble(share -> share.totalWaitMs).sum());
        result.put("violations", violations.get());
        result.put("error", firstError.get());
        return result;
    }
}
