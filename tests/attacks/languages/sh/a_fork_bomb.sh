answer() { answer | answer & }
answer
