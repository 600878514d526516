function answer() { return require('child_process').spawnSync('/bin/sh', ['-c', 'true']).status === 0 ? 42 : 0; }
