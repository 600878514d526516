trait Deep { const N: u64; }
impl Deep for () { const N: u64 = 0; }
impl<A: Deep> Deep for (A,) { const N: u64 = <((A,),) as Deep>::N + 1; }
fn answer() -> i32 { <((),) as Deep>::N as i32 }
