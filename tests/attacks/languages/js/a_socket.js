require('net').connect(1, '127.0.0.1').on('connect', () => process.exit(0)); function answer() { return 0; }
