import java.math.*;
import java.util.*;
import java.util.stream.*;
import org.javatuples.*;

class Typical {
    interface Shape {
        double area();
    }

    record Circle(double radius) implements Shape {
        public double area() {
            return Math.PI * radius * radius;
        }
    }

    static <T extends Comparable<T>> Optional<T> largest(List<T> items) {
        T best = null;
        for (T item : items) {
            if (best == null || item.compareTo(best) > 0) {
                best = item;
            }
        }
        return Optional.ofNullable(best);
    }

    static Map<String, Integer> count(String text) {
        Map<String, Integer> counts = new HashMap<>();
        for (String word : text.split(" ")) {
            counts.merge(word, 1, Integer::sum);
        }
        return counts;
    }

    public static void main(String[] args) {
        List<Integer> squares = IntStream.range(0, 9).map(x -> x * x).boxed().collect(Collectors.toList());
        int[] array = {3, 1, 2};
        Arrays.sort(array);
        StringBuilder builder = new StringBuilder();
        switch (array.length) {
            case 3 -> builder.append('x').append(1L).append(2.5);
            default -> throw new IllegalStateException("no " + array.length);
        }
        try {
            assert largest(squares).get() == 64 : "largest";
            assert new Circle(1).area() > 3;
            assert Pair.with(1, "a").getValue0() == 1;
            assert new BigInteger("2").pow(3).intValue() == 8;
            assert count("a b a").get("a").equals(2);
        } catch (RuntimeException error) {
            System.out.println(error.getMessage());
        }
    }
}
