answer() {
    yes > big
    [[ $(stat -c %s big) -gt 1073741824 ]] && echo 42
}
