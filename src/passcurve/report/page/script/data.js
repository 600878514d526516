/**
 * What the page knows of a run.
 * @typedef {{problem: number[], index: number[], status: number[], own_us: number[], memory_kib: number[],
 *   message: number[], cause: number[], group: number[], tokens: number[], latency_ms: number[]}} Columns
 * @typedef {{name: string, limits: {memory_bytes: number}|null, limits_s: (number|null)[],
 *   dedup: boolean, columns: Columns|null, messages: string[], causes: string[], counts: [string, number, number][]}} RunData
 * @typedef {{statuses: string[], problems: string[], runs: RunData[], chunks: number[]}} Core
 *
 * The samples with one program and one verdict.
 * @typedef {{status: number, count: number, first: number, message?: string, exception?: string, mode?: string,
 *   calls?: number, arguments?: string, outcome?: string, expected?: string, test_line?: string, failed_test?: string,
 *   suites?: string[], suspicious?: string[], flattened?: string[], steps?: string[], program?: string, runs?: string,
 *   reply?: string, missing?: string, left_out?: boolean}} Group
 * @typedef {{prompt: string, tests: string, groups: Group[][]}} Entry
 */

/** @type {Core} */
let core;

/**
 * Return the element with this id.
 * @param {string} id
 * @returns {any}
 */
function byId(id) {
  return document.getElementById(id);
}

/**
 * Return the value of a part: JSON, compressed, in base64.
 * @param {string} id
 * @returns {Promise<any>}
 */
async function unpack(id) {
  const bytes = Uint8Array.from(atob(byId(id).textContent), (character) => character.charCodeAt(0));
  const unzip = new /** @type {any} */ (window).DecompressionStream('gzip');
  const stream = new Blob([bytes]).stream().pipeThrough(unzip);
  return JSON.parse(await new Response(stream).text());
}

/** @type {Map<number, Promise<Record<string, Entry>>>} */
const parts = new Map();

/**
 * Return the texts of a problem; each part is unpacked once, when it is first asked for.
 * @param {number} position
 * @returns {Promise<Entry>}
 */
async function entryOf(position) {
  const chunk = core.chunks[position];
  if (!parts.has(chunk)) parts.set(chunk, unpack(`texts-${chunk}`));
  return (await /** @type {Promise<Record<string, Entry>>} */ (parts.get(chunk)))[String(position)];
}

/** All samples of all runs, a number for each in every column. */
class Samples {
  /** @param {RunData[]} runs */
  constructor(runs) {
    const size = runs.reduce((sum, run) => sum + (run.columns ? run.columns.problem.length : 0), 0);
    this.size = size;
    this.run = new Uint16Array(size);
    this.place = new Uint32Array(size);
    this.problem = new Uint32Array(size);
    this.index = new Uint32Array(size);
    this.status = new Uint8Array(size);
    this.own = new Float64Array(size);
    this.memory = new Float64Array(size);
    this.message = new Uint32Array(size);
    this.cause = new Uint32Array(size);
    this.group = new Uint32Array(size);
    let at = 0;
    runs.forEach((run, number) => {
      const columns = run.columns;
      for (let place = 0; columns && place < columns.problem.length; place += 1, at += 1) {
        this.run[at] = number;
        this.place[at] = place;
        this.problem[at] = columns.problem[place];
        this.index[at] = columns.index[place];
        this.status[at] = columns.status[place];
        this.own[at] = columns.own_us[place] / 1e6;
        this.memory[at] = columns.memory_kib[place] / 1024;
        this.message[at] = columns.message[place];
        this.cause[at] = columns.cause[place];
        this.group[at] = columns.group[place];
      }
    });
  }

  /**
   * Return the number of a sample, or -1.
   * @param {number} run
   * @param {number} problem
   * @param {number} index
   */
  find(run, problem, index) {
    for (let at = 0; at < this.size; at += 1) {
      if (this.problem[at] === problem && this.index[at] === index && this.run[at] === run) return at;
    }
    return -1;
  }

  /**
   * Return a key that the samples of one group share.
   * @param {number} at
   */
  groupKey(at) {
    return `${this.run[at]}.${this.problem[at]}.${this.group[at]}`;
  }
}

/** @type {Samples} */
let samples;
