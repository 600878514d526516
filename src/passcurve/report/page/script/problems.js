/** The view of the problems: c/n of each in every run, as a map that can be sorted. */
class ProblemView {
  constructor() {
    /** @type {Map<string, [number, number]>[]} */
    this.counts = core.runs.map((run) => new Map(run.counts.map(([name, n, c]) => [name, [n, c]])));
    /** @type {{a: number, b: number}|null} */
    this.place = null;
    const columns = [
      { name: 'problem', width: 'minmax(140px, 2fr)', cell: (/** @type {number} */ row) =>
        make('a', { href: address(row) }, isolate(core.problems[row])), key: (/** @type {number} */ row) => row },
      ...core.runs.map((run, at) => ({
        name: run.name,
        width: 'minmax(120px, 1fr)',
        cell: (/** @type {number} */ row) => this.heat(row, at),
        key: (/** @type {number} */ row) => this.rate(row, at) ?? -1,
      })),
    ];
    if (core.runs.length > 1) {
      columns.push({ name: 'spread', width: '90px', cell: (row) => this.spread(row).toFixed(2), key: (row) => -this.spread(row) });
    }
    this.grid = new Grid(byId('problem-grid'), 'Problems by run', columns, (row) => { location.hash = address(row); });
    for (const id of ['problem-text', 'problem-kind']) byId(id).addEventListener('input', debounced(() => this.filter()));
    this.filter();
  }

  /**
   * Return the share of right samples, or null.
   * @param {number} row
   * @param {number} run
   */
  rate(row, run) {
    const counts = this.counts[run].get(core.problems[row]);
    return counts && counts[0] ? counts[1] / counts[0] : null;
  }

  /**
   * Return the largest difference between two runs.
   * @param {number} row
   */
  spread(row) {
    const rates = /** @type {number[]} */ (core.runs.map((_, run) => this.rate(row, run)).filter((rate) => rate !== null));
    return rates.length > 1 ? Math.max(...rates) - Math.min(...rates) : 0;
  }

  /**
   * @param {number} row
   * @param {number} run
   */
  heat(row, run) {
    const counts = this.counts[run].get(core.problems[row]);
    if (!counts || !counts[0]) return make('span', { class: 'muted' }, '-');
    const [n, c] = counts;
    const rect = draw('rect', { width: 44, height: 16, 'fill-opacity': (c / n).toFixed(3) });
    return make('span', { class: `heat s${run % 8}` },
      draw('svg', { width: 44, height: 16, 'aria-hidden': 'true' }, rect), `${c}/${n}`);
  }

  filter() {
    const test = matcher(byId('problem-text').value.trim());
    const kind = byId('problem-kind').value;
    const rows = core.problems.map((_, row) => row).filter((row) => {
      if (test && !test(core.problems[row])) return false;
      if (this.place && !(near(this.rate(row, 0), this.place.a) && near(this.rate(row, 1), this.place.b))) return false;
      const rates = core.runs.map((_, run) => this.rate(row, run));
      if (kind === 'never') return rates.every((rate) => rate === 0);
      if (kind === 'always') return rates.every((rate) => rate === 1);
      if (kind === 'sometimes') return rates.some((rate) => rate !== null && rate > 0 && rate < 1);
      return kind !== 'differs' || this.spread(row) > 0;
    });
    this.grid.fill(rows);
    byId('problem-count').textContent = `${counted(rows.length)} of ${counted(core.problems.length)} problems`;
  }

  /**
   * Show what an address asks for.
   * @param {URLSearchParams} wanted
   */
  open(wanted) {
    const a = wanted.get('a');
    const b = wanted.get('b');
    this.place = a !== null && b !== null ? { a: Number(a), b: Number(b) } : null;
    this.filter();
  }
}

/**
 * @param {number|null} one
 * @param {number} other
 */
function near(one, other) {
  return one !== null && Math.abs(one - other) < 1e-5;
}
