/** The view of the problems: c/n of each in every run, as a map that can be sorted. */
class ProblemView {
  constructor() {
    /** @type {Map<string, [number, number]>[]} */
    this.counts = core.runs.map((run) => new Map(run.counts.map(([name, n, c]) => [name, [n, c]])));
    /** @type {{a: number, b: number, of: number[]}|null} */
    this.place = null;
    /** @type {Column[]} */
    const columns = [
      { name: 'problem', width: 'minmax(140px, 2fr)', narrow: 'minmax(100px, 1.4fr)', cell: (/** @type {number} */ row) =>
        make('a', { href: address(row) }, isolate(core.problems[row])), key: (/** @type {number} */ row) => row },
      ...core.runs.map((run, at) => ({
        name: run.name,
        run: at,
        title: `${run.name}: samples that passed, of those judged`,
        width: 'minmax(120px, 1fr)',
        narrow: 'minmax(64px, 1fr)',
        first: /** @type {'down'} */ ('down'),
        cell: (/** @type {number} */ row) => this.heat(row, at),
        key: (/** @type {number} */ row) => this.rate(row, at) ?? -1,
      })),
    ];
    if (core.runs.length > 1) {
      columns.push({ name: 'spread', title: 'largest difference of c/n between two runs', width: '90px', narrow: '56px', number: true, first: 'down',
        cell: (row) => share(this.spread(row)), key: (row) => this.spread(row) });
    }
    this.grid = new Grid(byId('problem-grid'), 'Problems by run', columns, (row) => { location.hash = address(row); });
    this.controls = [byId('problem-text'), byId('problem-kind')];
    for (const control of this.controls) control.addEventListener('input', debounced(() => this.filter()));
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
    // Rounded, so that equal differences are equal.
    return rates.length > 1 ? Math.round(1e9 * (Math.max(...rates) - Math.min(...rates))) / 1e9 : 0;
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
    const [text, choice] = this.controls;
    const tests = testsOf([text]);
    const kind = choice.value;
    const place = this.place;
    const rows = core.problems.map((_, row) => row).filter((row) => {
      if (!tests || !tests[0](core.problems[row])) return false;
      if (place && !(near(this.rate(row, place.of[0]), place.a) && near(this.rate(row, place.of[1]), place.b))) return false;
      const rates = core.runs.map((_, run) => this.rate(row, run));
      if (kind === 'never') return rates.every((rate) => rate === 0);
      if (kind === 'always') return rates.every((rate) => rate === 1);
      if (kind === 'sometimes') return rates.some((rate) => rate !== null && rate > 0 && rate < 1);
      return kind !== 'differs' || this.spread(row) > 0;
    });
    this.grid.fill(rows, tests ? 'No problem is left by these filters.' : `${text.value} is no pattern.`);
    byId('problem-count').textContent = `${counted(rows.length)} of ${counted(core.problems.length)} problems`;
    const chips = chipsOf(this.controls);
    if (place) {
      const [a, b] = place.of.map((run) => core.runs[run].name);
      chips.push({ label: `${a} ${share(place.a)}, ${b} ${share(place.b)}`, clear: () => { this.place = null; } });
    }
    showChips(byId('problem-chips'), chips, () => this.filter());
    keepAddress('problems', [['text', text.value.trim()], ['kind', kind],
      ...(place ? /** @type {[string, string][]} */ ([['a', String(place.a)], ['b', String(place.b)], ['of', place.of.join(',')]]) : [])]);
  }

  /**
   * Show what an address asks for.
   * @param {URLSearchParams} wanted
   */
  open(wanted) {
    const [a, b] = [wanted.get('a'), wanted.get('b')];
    const of = (wanted.get('of') ?? '0,1').split(',').map(Number).filter((run) => core.runs[run]);
    this.place = a !== null && b !== null && of.length === 2 ? { a: Number(a), b: Number(b), of } : null;
    byId('problem-text').value = wanted.get('text') ?? '';
    const kind = byId('problem-kind');
    kind.value = wanted.get('kind') ?? '';
    if (kind.selectedIndex < 0) kind.value = '';
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
