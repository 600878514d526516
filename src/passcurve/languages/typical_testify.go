package typical_test

import (
	"bufio"
	"bytes"
	"container/heap"
	"crypto/md5"
	"errors"
	"fmt"
	"math"
	"math/rand"
	"os"
	"reflect"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/assert"
)

var _ = bufio.NewReader
var _ = bytes.NewReader
var _ = heap.Init
var _ = md5.Sum
var _ = errors.New
var _ = math.Abs
var _ = rand.Intn
var _ = os.Exit
var _ = reflect.DeepEqual
var _ = regexp.MustCompile
var _ = sort.Ints
var _ = strconv.Itoa
var _ = strings.Split
var _ = time.Now
var _ = unicode.IsUpper

func TestTypical(t *testing.T) {
	assert.Equal(t, 1, len(fmt.Sprint(1)))
}
