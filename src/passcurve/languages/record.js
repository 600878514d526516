// Returns the function that stands in place of the tests' assertions: it writes the value of each call to a file, as
// JSON.  What is expected of these values is not known here.  place: the file.
const files = process.mainModule.require("fs");
const output = files.openSync(place, "w");
const LARGEST = 1 << 20;

function isPlain(value, prototype) {
  return Object.getPrototypeOf(value) === prototype;
}

function encodeArray(value) {
  const items = [];
  let own = 0;
  if (value.length > LARGEST) return { x: "a large array" };
  for (let index = 0; index < value.length; index++) {
    const isThere = Object.prototype.hasOwnProperty.call(value, index);
    own += isThere ? 1 : 0;
    items.push(isThere ? encode(value[index]) : { h: 0 });
  }
  if (Object.keys(value).length !== own) return { x: "an array with fields" };
  return isPlain(value, Array.prototype) ? items : { a: items };
}

function encodeObject(value) {
  const kind = Object.prototype.toString.call(value);
  if (kind !== "[object Object]") return { x: kind };
  const pairs = Object.keys(value).map((name) => [name, encode(value[name])]);
  const isSimple = isPlain(value, Object.prototype) && Object.getOwnPropertySymbols(value).length === 0;
  return isSimple ? { o: pairs } : { c: pairs };
}

function encode(value) {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) && !Object.is(value, -0) ? value : { n: Object.is(value, -0) ? "-0" : String(value) };
    case "undefined":
      return { u: 0 };
    case "bigint":
      return { b: String(value) };
    case "object":
      if (value === null) return null;
      return Array.isArray(value) ? encodeArray(value) : encodeObject(value);
    default:
      return { x: typeof value };
  }
}

function isObject(value) {
  return typeof value === "function" || (typeof value === "object" && value !== null);
}

function toPrimitive(value) {
  if (!isObject(value)) return value;
  if (value[Symbol.toPrimitive] !== undefined) return value[Symbol.toPrimitive]("default");
  const simple = value.valueOf();
  return isObject(simple) ? value.toString() : simple;
}

// A comparison may convert what it compares.
const VIEWS = { value: (value) => value, number: (value) => +value, primitive: toPrimitive };

return (number, value, view) => {
  files.writeSync(output, JSON.stringify([number, encode(VIEWS[view || "value"](value))]) + "\n");
};
