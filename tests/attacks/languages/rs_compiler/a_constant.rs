const fn turn(mut n: u64) -> u64 { while n != 1 { n = if n % 2 == 0 { n / 2 } else { n + 2 }; } n }
const N: u64 = turn(6);
fn answer() -> i32 { N as i32 }
