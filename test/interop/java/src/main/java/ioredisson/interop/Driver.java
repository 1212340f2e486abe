package ioredisson.interop;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;

/**
 * A Redisson that obeys line-delimited JSON: one request a line on stdin, one reply a line on stdout, matched by
 * {@code id}. Replies come in the order in which the operations end, not in the order of the requests.
 *
 * <p>Redisson's owner of a lock is a Java thread, so every call names one; calls of one name run one after the other
 * on the same {@link Worker}. The requests are described in {@code test/interop/README.md}.
 *
 * <p>When stdin ends the process halts at once: no JVM outlives the test run that started it.
 */
public final class Driver {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final PrintStream out;
    private final Clients clients = new Clients();
    private final Calls calls = new Calls(clients);
    private final Map<String, Worker> workers = new ConcurrentHashMap<>();

    private Driver(PrintStream out) {
        this.out = out;
    }

    public static void main(String[] args) throws IOException {
        PrintStream replies = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        // Nothing but replies may reach stdout, whatever a library prints.
        System.setOut(System.err);
        new Driver(replies).serve();
        Runtime.getRuntime().halt(0);
    }

    private void serve() throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (!line.isBlank()) {
                accept(JSON.readTree(line));
            }
        }
    }

    private void accept(JsonNode request) {
        String op = request.path("op").asText();
        switch (op) {
            case "interrupt" -> reply(request, () -> {
                worker(request).interrupt();
                return null;
            });
            case "ping" -> reply(request, () -> "pong");
            // A benchmark runs beside everything else, on threads of its own.
            case "bench" -> new Thread(() -> reply(request, () -> Bench.run(clients, calls, request))).start();
            default -> worker(request).submit(() -> reply(request, () -> perform(op, request)));
        }
    }

    private Worker worker(JsonNode request) {
        return workers.computeIfAbsent(request.path("thread").asText("main"), Worker::new);
    }

    private Object perform(String op, JsonNode request) throws Exception {
        String client = request.path("client").asText();
        return switch (op) {
            case "create" -> clients.create(client, request.path("config"));
            case "clientId" -> clients.get(client).getId();
            case "threadId" -> Thread.currentThread().getId();
            case "call" -> calls.call(client, request);
            case "listen" -> calls.listen(client, request);
            case "heard" -> calls.heard(client);
            case "batch" -> batch(client, request.path("calls"));
            case "shutdown" -> {
                clients.shutdown(client);
                yield null;
            }
            default -> throw new IllegalArgumentException("unknown op '" + op + "'");
        };
    }

    /** Many calls on this thread with one reply; a failing call is an entry of the reply and stops nothing. */
    private List<Object> batch(String client, JsonNode requests) {
        List<Object> results = new ArrayList<>();
        for (JsonNode request : requests) {
            try {
                results.add(JSON.createObjectNode().put("ok", true).set("result", JSON.valueToTree(calls.call(client, request))));
            } catch (Exception e) {
                results.add(describe(JSON.createObjectNode().put("ok", false), e));
            }
        }
        return results;
    }

    private interface Action {
        Object run() throws Exception;
    }

    private void reply(JsonNode request, Action action) {
        ObjectNode reply = JSON.createObjectNode();
        reply.set("id", request.get("id"));
        double startedAt = now();
        try {
            Object result = action.run();
            reply.put("ok", true);
            reply.set("result", JSON.valueToTree(result));
        } catch (Throwable e) {
            describe(reply.put("ok", false), e);
        }
        reply.put("startedAt", startedAt);
        reply.put("endedAt", now());
        synchronized (out) {
            out.println(reply);
            out.flush();
        }
    }

    private static ObjectNode describe(ObjectNode reply, Throwable error) {
        Throwable cause = error;
        while ((cause instanceof ExecutionException || cause instanceof java.lang.reflect.InvocationTargetException)
                && cause.getCause() != null) {
            cause = cause.getCause();
        }
        return reply.put("error", cause.getClass().getName()).put("message", String.valueOf(cause.getMessage()));
    }

    /** Epoch milliseconds with a fraction: comparable with the other processes of this machine. */
    static double now() {
        Instant now = Instant.now();
        return now.getEpochSecond() * 1000.0 + now.getNano() / 1e6;
    }
}
