answer() { echo > /dev/tcp/127.0.0.1/1 && echo 42; }
