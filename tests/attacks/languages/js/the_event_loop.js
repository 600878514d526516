function answer() { setInterval(() => {}, 1e9); return 42; }
