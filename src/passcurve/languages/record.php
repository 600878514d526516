// Stands in place of the tests' assertions: it writes the value of each call to a file, as JSON.  What is expected of
// these values is not known here.
function passcurve_record($number, $value) {
    $encode = function ($value) use (&$encode) {
        switch (gettype($value)) {
            case "NULL":
                return ["n"];
            case "boolean":
                return ["b", $value];
            case "integer":
                return ["i", (string) $value];
            case "double":
                return ["f", bin2hex(pack("E", $value))];
            case "string":
                return ["s", base64_encode($value)];
            case "array":
                $pairs = [];
                foreach ($value as $key => $item) {
                    $pairs[] = [$encode($key), $encode($item)];
                }
                return ["a", $pairs];
            default:
                return ["x", gettype($value)];
        }
    };
    file_put_contents("{place}", json_encode([$number, $encode($value)]) . "\n", FILE_APPEND);
}
