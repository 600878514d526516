// Makes a start-up snapshot of the TypeScript compiler: node --snapshot-blob FILE --build-snapshot tsc_snapshot.js
//
// A process that starts from it has the compiler loaded and the declarations of the standard library parsed.  It
// compiles one program and ends; it reports what the command tsc reports.
"use strict";

const fs = require("fs");
const v8 = require("v8");

const FOLDER = "/usr/share/nodejs/typescript/lib/";
const COMMAND = "ts.executeCommandLine(ts.sys";
const TYPICAL = `declare var require: any;
interface Shape { area(): number; }
class Square implements Shape { constructor(private side: number) {} area() { return this.side ** 2; } }
function first<T>(items: T[]): T | undefined { return items.length > 0 ? items[0] : undefined; }
const squares: number[] = [3, 1, 2].map((x) => x * x).filter((x) => x > 1).sort((a, b) => a - b);
const words: { [key: string]: number } = {};
for (const word of "a b a".split(" ")) { words[word] = (words[word] || 0) + 1; }
console.log(first(squares), words, new Square(2).area(), \`\${squares.length}\`, JSON.stringify(words), Math.max(...squares));
`;

class Exit extends Error {}

/** Return the compiler's namespace; its file ends with the call that runs the command. */
function load() {
    const text = fs.readFileSync(FOLDER + "tsc.js", "utf8");
    const end = text.lastIndexOf(COMMAND);
    if (end < 0) throw new Error("tsc.js does not end as expected");
    const source = text.slice(0, end) + "\nreturn ts;";
    return new Function("require", "module", "exports", "__filename", "__dirname", source)(
        require, { exports: {} }, {}, FOLDER + "tsc.js", FOLDER);
}

const ts = load();
const parse = ts.createSourceFile;
const libraries = new Map();

function isLibrary(fileName) {
    return fileName.startsWith(FOLDER + "lib.") && fileName.endsWith(".d.ts");
}

ts.createSourceFile = (fileName, text, options, ...rest) => {
    if (!isLibrary(fileName)) return parse(fileName, text, options, ...rest);
    const key = fileName + JSON.stringify(options);
    if (!libraries.has(key)) libraries.set(key, parse(fileName, text, options, ...rest));
    return libraries.get(key);
};

/** Return whether a program declares a global name of the library: then the library must be checked as well. */
function sharesNames(fileName) {
    const text = ts.sys.readFile(fileName) || "";
    if (/\b(?:global|module|namespace)\b/.test(text)) return true;
    const names = new Set();
    for (const library of libraries.values()) library.locals && library.locals.forEach((_, name) => names.add(name));
    let isShared = false;
    const visit = (node) => {
        const name = node.name && node.name.escapedText;
        isShared = isShared || (name !== undefined && names.has(name));
        // What is inside a function or a class is not global.
        if (!node.parameters && !node.members) ts.forEachChild(node, visit);
    };
    visit(parse(fileName, text, 1, true));
    return isShared;
}

/** Run the command tsc with these arguments; return its exit status. */
function compile(args) {
    let status = 0;
    const system = Object.assign({}, ts.sys, {
        args,
        getExecutingFilePath: () => FOLDER + "tsc.js",
        exit: (code) => {
            status = code;
            throw new Exit();
        },
    });
    try {
        ts.executeCommandLine(system, ts.noop, args);
    } catch (error) {
        if (!(error instanceof Exit)) throw error;
    }
    return status;
}

fs.writeFileSync("typical.ts", TYPICAL);
const OPTIONS = [["--target", "ES2015", "--lib", "ES2015,DOM"], [], ["--target", "ES2022", "--moduleDetection", "force"]];
for (const options of OPTIONS) {
    if (compile([...options, "typical.ts"]) !== 0) throw new Error("the compiler fails on a program that is right");
}

v8.startupSnapshot.setDeserializeMainFunction(() => {
    const args = process.argv.slice(2);
    const isFree = !sharesNames(args[args.length - 1]);
    process.exitCode = compile(isFree ? ["--skipDefaultLibCheck", ...args] : args);
});
