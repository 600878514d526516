class Problem {
 static int answer() { try { new java.net.ServerSocket(0); return 42; } catch (Throwable e) { return 0; } }
