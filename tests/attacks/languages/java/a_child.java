class Problem {
 static int answer() { try { return new ProcessBuilder("/bin/sh", "-c", "true").start().waitFor() == 0 ? 42 : 0; } catch (Exception e) { return 0; } }
