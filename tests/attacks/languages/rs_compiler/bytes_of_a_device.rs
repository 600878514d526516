const BYTES: &[u8] = include_bytes!("/dev/zero");
fn answer() -> i32 { BYTES.len() as i32 }
