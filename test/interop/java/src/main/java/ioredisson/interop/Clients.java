package ioredisson.interop;

import com.fasterxml.jackson.databind.JsonNode;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.ClusterServersConfig;
import org.redisson.config.Config;
import org.redisson.config.SentinelServersConfig;
import org.redisson.config.SingleServerConfig;

/**
 * The Redisson clients of this JVM by name.
 *
 * <p>A configuration is {@code mode} (single, cluster, sentinel) and {@code addresses}, {@code codec} ({@code string} or
 * left out), then any of Redisson's own setting names. A setting is looked for on {@code Config} and on the mode's
 * config, because it moved between the versions; one that this version does not have is reported back as ignored.
 */
final class Clients {
    private static final Set<String> OURS = Set.of("mode", "addresses", "masterName", "nameMapperPrefix", "codec");

    private final Map<String, RedissonClient> clients = new ConcurrentHashMap<>();

    RedissonClient get(String name) {
        RedissonClient client = clients.get(name);
        if (client == null) {
            throw new IllegalArgumentException("no client '" + name + "'");
        }
        return client;
    }

    Map<String, Object> create(String name, JsonNode settings) throws Exception {
        Config config = new Config();
        // Two cores are shared by several processes: Redisson's 16 + 32 threads would only wait for each other.
        config.setThreads(4);
        config.setNettyThreads(4);
        Object servers = servers(config, settings);
        List<String> ignored = new ArrayList<>();
        if (settings.hasNonNull("nameMapperPrefix")) {
            setNameMapper(config, servers, settings.get("nameMapperPrefix").asText());
        }
        if ("string".equals(settings.path("codec").asText())) {
            config.setCodec(StringCodec.INSTANCE);
        }
        for (Iterator<String> names = settings.fieldNames(); names.hasNext(); ) {
            String setting = names.next();
            if (!OURS.contains(setting) && !set(config, setting, settings.get(setting))
                    && !set(servers, setting, settings.get(setting))) {
                ignored.add(setting);
            }
        }
        RedissonClient client = Redisson.create(config);
        clients.put(name, client);
        Map<String, Object> reply = new LinkedHashMap<>();
        reply.put("clientId", client.getId());
        reply.put("ignored", ignored);
        return reply;
    }

    void shutdown(String name) {
        RedissonClient client = clients.remove(name);
        if (client != null) {
            client.shutdown();
        }
    }

    private static Object servers(Config config, JsonNode settings) {
        List<String> addresses = new ArrayList<>();
        settings.path("addresses").forEach(address -> addresses.add(address.asText()));
        String mode = settings.path("mode").asText("single");
        switch (mode) {
            case "single": {
                SingleServerConfig single = config.useSingleServer();
                single.setAddress(addresses.get(0));
                single.setConnectionMinimumIdleSize(2);
                return single;
            }
            case "cluster": {
                ClusterServersConfig cluster = config.useClusterServers();
                cluster.addNodeAddress(addresses.toArray(new String[0]));
                cluster.setMasterConnectionMinimumIdleSize(2);
                return cluster;
            }
            case "sentinel": {
                SentinelServersConfig sentinel = config.useSentinelServers();
                sentinel.addSentinelAddress(addresses.toArray(new String[0]));
                sentinel.setMasterName(settings.path("masterName").asText("mymaster"));
                sentinel.setMasterConnectionMinimumIdleSize(2);
                sentinel.setCheckSentinelsList(false);
                return sentinel;
            }
            default:
                throw new IllegalArgumentException("unknown mode '" + mode + "'");
        }
    }

    private static boolean set(Object config, String setting, JsonNode value) throws Exception {
        String setter = "set" + Character.toUpperCase(setting.charAt(0)) + setting.substring(1);
        for (Method method : config.getClass().getMethods()) {
            if (method.getName().equals(setter) && method.getParameterCount() == 1
                    && Arguments.fits(method.getParameterTypes()[0], value)) {
                method.invoke(config, Arguments.convert(method.getParameterTypes()[0], value));
                return true;
            }
        }
        return false;
    }

    /** The mapper is another interface (api or config) set on another class (servers or Config), version by version. */
    private static void setNameMapper(Config config, Object servers, String prefix) throws Exception {
        InvocationHandler handler = (proxy, method, args) -> switch (method.getName()) {
            case "map" -> args[0] == null ? null : prefix + args[0];
            case "unmap" -> args[0] == null ? null : ((String) args[0]).substring(prefix.length());
            case "toString" -> "prefix " + prefix;
            case "hashCode" -> prefix.hashCode();
            default -> proxy == args[0];
        };
        for (Object target : List.of(config, servers)) {
            for (Method method : target.getClass().getMethods()) {
                if (method.getName().equals("setNameMapper") && method.getParameterTypes()[0].isInterface()) {
                    Class<?> type = method.getParameterTypes()[0];
                    method.invoke(target, Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
                    return;
                }
            }
        }
        throw new UnsupportedOperationException("this Redisson has no NameMapper");
    }
}
