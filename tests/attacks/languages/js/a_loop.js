function answer() { for (;;); }
