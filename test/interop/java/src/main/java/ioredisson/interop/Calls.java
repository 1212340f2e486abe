package ioredisson.interop;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.lang.reflect.Array;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.redisson.api.DeletedObjectListener;
import org.redisson.api.ExpiredObjectListener;
import org.redisson.api.RObject;

/**
 * Finds the object and the method a request names, and calls it on the running thread.
 *
 * <p>An object is a path from the client: {@code ["getLock","x"]}, or steps such as
 * {@code [["getReadWriteLock","rw"],["readLock"]]}. A step's argument may be an object itself, of any client:
 * {@code ["getMultiLock", {"object":["getLock","a"]}, {"client":"other","object":["getLock","b"]}]}.
 */
final class Calls {
    private final Clients clients;
    /** Redisson keeps the last lease in the lock object, so whether two calls share one matters: they do by handle. */
    private final Map<String, Object> handles = new ConcurrentHashMap<>();

    private final Map<String, Queue<String>> heard = new ConcurrentHashMap<>();

    Calls(Clients clients) {
        this.clients = clients;
    }

    Object call(String client, JsonNode request) throws Exception {
        Object target = target(client, request);
        JsonNode args = request.has("args") ? request.get("args") : JsonNodeFactory.instance.arrayNode();
        Object result = invoke(client, target, request.path("method").asText(), args);
        return result instanceof CompletionStage<?> stage ? stage.toCompletableFuture().get() : result;
    }

    /** Listens to the end of an object's key. Redisson has a listener, and an id, for each event. */
    List<Integer> listen(String client, JsonNode request) throws Exception {
        RObject object = (RObject) resolve(client, request.get("object"));
        Queue<String> events = events(client);
        ExpiredObjectListener expired = name -> events.add("expired " + name);
        DeletedObjectListener deleted = name -> events.add("deleted " + name);
        return List.of(object.addListener(expired), object.addListener(deleted));
    }

    /** What the listeners of a client were told, in order. */
    List<String> heard(String client) {
        return List.copyOf(events(client));
    }

    private Queue<String> events(String client) {
        return heard.computeIfAbsent(client, name -> new ConcurrentLinkedQueue<>());
    }

    /** A new object for each call, unless the request names a handle. */
    private Object target(String client, JsonNode request) throws Exception {
        String handle = request.path("handle").asText(null);
        if (handle == null) {
            return resolve(client, request.get("object"));
        }
        Object known = handles.get(client + ' ' + handle);
        if (known == null) {
            known = resolve(client, request.get("object"));
            handles.put(client + ' ' + handle, known);
        }
        return known;
    }

    Object resolve(String client, JsonNode path) throws Exception {
        Object target = clients.get(client);
        if (path.get(0).isTextual()) {
            return step(client, target, path);
        }
        for (JsonNode step : path) {
            target = step(client, target, step);
        }
        return target;
    }

    private Object step(String client, Object target, JsonNode step) throws Exception {
        ArrayNode args = JsonNodeFactory.instance.arrayNode();
        for (int i = 1; i < step.size(); i++) {
            args.add(step.get(i));
        }
        return invoke(client, target, step.get(0).asText(), args);
    }

    private Object invoke(String client, Object target, String name, JsonNode args) throws Exception {
        Method method = find(target, name, args)
                .orElseThrow(() -> new NoSuchMethodException(target.getClass().getSimpleName() + '.' + name + args));
        method.setAccessible(true);
        Class<?>[] types = method.getParameterTypes();
        Object[] values = new Object[types.length];
        if (takesObjects(method)) {
            Class<?> type = types[0].getComponentType();
            values[0] = Array.newInstance(type, args.size());
            for (int i = 0; i < args.size(); i++) {
                Array.set(values[0], i, resolve(args.get(i).path("client").asText(client), args.get(i).get("object")));
            }
        } else {
            for (int i = 0; i < types.length; i++) {
                values[i] = Arguments.convert(types[i], args.get(i));
            }
        }
        return method.invoke(target, values);
    }

    private static Optional<Method> find(Object target, String name, JsonNode args) {
        return Arrays.stream(target.getClass().getMethods())
                .filter(method -> method.getName().equals(name) && accepts(method, args))
                // Deterministic: the narrower overload (an int before a long), then the method before its bridge.
                .min(Comparator.comparing((Method method) -> Arrays.toString(method.getParameterTypes()))
                        .thenComparing(Method::isBridge));
    }

    private static boolean accepts(Method method, JsonNode args) {
        Class<?>[] types = method.getParameterTypes();
        if (args.size() > 0 && args.get(0).has("object")) {
            return takesObjects(method);
        }
        if (types.length != args.size()) {
            return false;
        }
        for (int i = 0; i < types.length; i++) {
            if (!Arguments.fits(types[i], args.get(i))) {
                return false;
            }
        }
        return true;
    }

    private static boolean takesObjects(Method method) {
        return method.isVarArgs() && method.getParameterCount() == 1;
    }
}
