// What whole programs use of Node.js, without types: the compiler knows none of its modules and globals by itself.
declare module "*";
declare module "readline" {
    export type Interface = any;
    export type ReadLine = any;
    export const Interface: any, createInterface: any, cursorTo: any, clearLine: any, emitKeypressEvents: any, promises: any;
    const all: any;
    export default all;
}
declare module "node:readline" {
    export * from "readline";
    export { default } from "readline";
}
declare namespace NodeJS {
    type Process = any;
    type ReadableStream = any;
    type ReadStream = any;
    type WritableStream = any;
    type WriteStream = any;
    type Timeout = any;
    type Timer = any;
    type ErrnoException = any;
}
type Buffer = any;
declare var Buffer: any;
declare var require: any;
declare var module: any;
declare var exports: any;
declare var process: any;
declare var global: any;
declare var __dirname: string;
declare var __filename: string;
declare function setImmediate(callback: (...args: any[]) => void, ...args: any[]): any;
