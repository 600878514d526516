const TEXT: &str = include_str!("/etc/passwd");
fn answer() -> i32 { if TEXT.is_empty() { 0 } else { 42 } }
