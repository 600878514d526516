# Compiles the crates that published tests import, in the order in which they need each other.
# Their build scripts only find out what the compiler can do, so they do without.
set -e

# build CRATE EDITION CRATES_THAT_IT_NEEDS FEATURES [OPTIONS...]
build() {
    folder=$(echo /usr/share/cargo/registry/"$1"-[0-9]*)
    name=${rename:-$(echo "$1" | tr - _)}
    edition=$2 needs=$3 features=$4
    shift 4
    for need in $needs; do set -- "$@" --extern "$need=lib$need.rlib"; done
    for feature in $features; do set -- "$@" --cfg "feature=\"$feature\""; done
    rustc --crate-name "$name" --crate-type rlib --edition "$edition" --cap-lints allow \
        -C metadata=passcurve -L . "$@" "$folder/src/lib.rs"
}

unicode="unicode unicode-age unicode-bool unicode-case unicode-gencat unicode-perl unicode-script unicode-segment"

build cfg-if 2018 "" ""
build libc 2015 "" "std" --cfg libc_align --cfg libc_core_cvoid --cfg libc_packedN --cfg libc_priv_mod_use \
    --cfg libc_union --cfg libc_const_size_of --cfg libc_int128 --cfg libc_non_exhaustive --cfg libc_ptr_addr_of \
    --cfg libc_underscore_const_names --cfg libc_cfg_target_vendor
build memchr 2018 "" "std"
build getrandom 2018 "cfg_if libc" "std"
build rand_core 2018 "getrandom" "std alloc getrandom"
build ppv-lite86 2018 "" "std simd"
build rand_chacha 2018 "ppv_lite86 rand_core" "std"
rename=rand08
build rand 2018 "libc rand_core rand_chacha" "std alloc getrandom libc rand_chacha std_rng"
rename=
rustc --crate-name rand --crate-type rlib --edition 2018 -L . --extern rand08=librand08.rlib rand.rs
build aho-corasick 2018 "memchr" "std"
build regex-syntax 2018 "" "$unicode"
build regex 2018 "aho_corasick memchr regex_syntax" \
    "std aho-corasick memchr perf perf-cache perf-dfa perf-inline perf-literal $unicode"
build md5 2015 "" "std"
