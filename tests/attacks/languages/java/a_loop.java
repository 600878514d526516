class Problem {
 static int answer() { while (true); }
