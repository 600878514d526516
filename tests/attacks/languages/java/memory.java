class Problem {
 static int answer() { java.util.List<byte[]> a = new java.util.ArrayList<>(); while (true) a.add(new byte[1 << 24]); }
