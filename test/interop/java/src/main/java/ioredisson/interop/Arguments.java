package ioredisson.interop;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** JSON to Java arguments, led by the parameter's type. {@code {"durationMs": n}} is a {@link Duration}. */
final class Arguments {
    private Arguments() {}

    static boolean fits(Class<?> type, JsonNode value) {
        if (value.isNull()) {
            return !type.isPrimitive();
        }
        if (type == int.class || type == Integer.class) {
            return value.canConvertToInt() && value.isIntegralNumber();
        }
        if (type == long.class || type == Long.class) {
            return value.isIntegralNumber();
        }
        if (type == boolean.class || type == Boolean.class) {
            return value.isBoolean();
        }
        if (type.isEnum()) {
            return value.isTextual() && constants(type).contains(value.asText());
        }
        if (type == Duration.class) {
            return value.has("durationMs");
        }
        if (Collection.class.isAssignableFrom(type) && type.isAssignableFrom(List.class)) {
            return value.isArray();
        }
        return type == String.class && value.isTextual();
    }

    static Object convert(Class<?> type, JsonNode value) {
        if (value.isNull()) {
            return null;
        }
        if (type == int.class || type == Integer.class) {
            return value.intValue();
        }
        if (type == long.class || type == Long.class) {
            return value.longValue();
        }
        if (type == boolean.class || type == Boolean.class) {
            return value.booleanValue();
        }
        if (type == TimeUnit.class) {
            return TimeUnit.valueOf(value.asText());
        }
        if (type.isEnum()) {
            return Arrays.stream(type.getEnumConstants()).filter(c -> c.toString().equals(value.asText())).findFirst().get();
        }
        if (type == Duration.class) {
            return Duration.ofMillis(value.get("durationMs").longValue());
        }
        if (value.isArray()) {
            List<String> list = new ArrayList<>();
            value.forEach(element -> list.add(element.asText()));
            return list;
        }
        return value.asText();
    }

    private static Collection<String> constants(Class<?> type) {
        return Arrays.stream(type.getEnumConstants()).map(Object::toString).collect(Collectors.toSet());
    }
}
