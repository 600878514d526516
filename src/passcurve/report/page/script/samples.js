const CONTROLS = ['run', 'status', 'problem', 'text', 'where', 'ms', 'group'];

/** The view of the samples: find, filter, sort, group. */
class SampleView {
  constructor() {
    /** @type {Set<string>|null} */
    this.inPrograms = null;
    /** Filters without a control: links set them, chips clear them. */
    this.near = false;
    this.cause = '';
    this.searches = 0;
    this.counts = new Map();
    for (let at = 0; at < samples.size; at += 1) {
      const key = samples.groupKey(at);
      this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
    }
    core.statuses.forEach((status) => byId('sample-status').append(make('option', { value: status }, status)));
    this.grid = new Grid(byId('sample-grid'), 'Samples', this.columns(), (row) => { location.hash = this.link(row); });
    /** @type {Record<string, any>} */
    this.controls = Object.fromEntries(CONTROLS.map((name) => [name, byId(`sample-${name}`)]).filter(([, control]) => control));
    for (const control of Object.values(this.controls)) control.addEventListener('input', debounced(() => this.search()));
    this.filter();
  }

  /** @returns {Column[]} */
  columns() {
    /** @type {Column[]} */
    const columns = [
      { name: 'sample', width: 'minmax(130px, 2fr)', narrow: 'minmax(118px, 1.3fr)', cell: (row) => make('a', { href: this.link(row) },
        isolate(`${core.problems[samples.problem[row]]}/${samples.index[row]}`)),
      key: (row) => samples.problem[row] * 0x1000000 + samples.index[row] },
      { name: 'status', width: '90px', narrow: '58px', cell: (row) => this.status(row), key: (row) => samples.status[row] },
      { name: 'ms', title: "the sample's own time in milliseconds", width: '78px', narrow: '42px', number: true, first: 'down',
        cell: (row) => milliseconds(samples.own[row]), key: (row) => samples.own[row] },
      { name: 'MiB', title: 'memory at most', width: '66px', narrow: 'none', number: true, first: 'down',
        cell: (row) => samples.memory[row].toFixed(0), key: (row) => samples.memory[row] },
      { name: 'alike', title: 'samples of this run and problem with this program and this verdict', width: '72px', narrow: 'none',
        number: true, first: 'down', cell: (row) => counted(this.alike(row)), key: (row) => this.alike(row) },
      { name: 'message', width: 'minmax(160px, 5fr)', narrow: 'below', cell: (row) => isolate(this.message(row)),
        key: (row) => this.message(row) },
    ];
    if (core.runs.length > 1) {
      columns.unshift({ name: 'run', width: 'minmax(80px, 1fr)', narrow: 'minmax(76px, 1fr)', key: (row) => samples.run[row],
        cell: (row) => make('span', {}, runKey(samples.run[row]), isolate(core.runs[samples.run[row]].name)) });
    }
    return columns;
  }

  /** @param {number} row */
  status(row) {
    const status = core.statuses[samples.status[row]];
    return make('span', { class: `status ${status}` }, status);
  }

  /** @param {number} row */
  message(row) {
    return core.runs[samples.run[row]].messages[samples.message[row]];
  }

  /** @param {number} row */
  alike(row) {
    return this.counts.get(samples.groupKey(row)) ?? 1;
  }

  /** @param {number} row */
  link(row) {
    return address(samples.problem[row], samples.index[row], samples.run[row]);
  }

  /** Filter, after looking through the programs where that is asked for. */
  async search() {
    this.searches += 1;
    const search = this.searches;
    const { text, where, problem } = this.controls;
    const tests = testsOf([text, problem]);
    /** @type {Set<string>|null} */
    let hits = null;
    if (tests && text.value.trim() && where.value === 'program') {
      byId('sample-count').textContent = 'looking through the programs ...';
      const groupsWithText = new Set();
      for (let position = 0; position < core.problems.length; position += 1) {
        const entry = await entryOf(position);
        entry.groups.forEach((groups, run) => groups.forEach((group, at) => {
          if (group.program !== undefined && tests[0](group.program)) groupsWithText.add(`${run}.${position}.${at}`);
        }));
      }
      hits = groupsWithText;
    }
    // A later search may have ended first.
    if (search !== this.searches) return;
    this.inPrograms = hits;
    this.filter();
  }

  /**
   * Return a test of a row by all filters but grouping.
   * @param {((text: string) => boolean)[]} tests
   * @returns {(row: number) => boolean}
   */
  test([isText, isProblem]) {
    const run = this.controls.run?.value ?? '';
    const status = this.controls.status.value;
    const problem = this.controls.problem.value.trim();
    const seconds = (Number(this.controls.ms.value) || 0) / 1000;
    const exact = core.problems.indexOf(problem);
    const problems = core.problems.map((name, at) => (exact >= 0 ? at === exact : isProblem(name)));
    const messages = core.runs.map((one) => one.messages.map((message) => this.inPrograms !== null || isText(message)));
    const passed = core.statuses.indexOf('passed');
    return (row) => {
      const at = samples.run[row];
      if (run !== '' && at !== Number(run)) return false;
      if (status === '!passed' ? samples.status[row] === passed : status && core.statuses[samples.status[row]] !== status) return false;
      if (!problems[samples.problem[row]] || samples.own[row] < seconds || !messages[at][samples.message[row]]) return false;
      if (this.cause && core.runs[at].causes[samples.cause[row]] !== this.cause) return false;
      if (this.near && samples.own[row] < 0.5 * (core.runs[at].limits_s[samples.problem[row]] ?? Infinity)) return false;
      return !this.inPrograms || this.inPrograms.has(samples.groupKey(row));
    };
  }

  filter() {
    const { text, problem, group } = this.controls;
    const tests = testsOf([text, problem]);
    const test = tests ? this.test(tests) : () => false;
    const seen = new Set();
    const rows = [];
    let left = 0;
    for (let row = 0; row < samples.size; row += 1) {
      if (!test(row)) continue;
      left += 1;
      if (group.value === 'program') {
        const key = samples.groupKey(row);
        if (seen.has(key)) continue;
        seen.add(key);
      }
      rows.push(row);
    }
    const wrong = [text, problem].find((field) => field.getAttribute('aria-invalid') === 'true');
    this.grid.fill(rows, wrong ? `${wrong.value.trim()} is no pattern.`
      : samples.size ? 'No sample is left by these filters.' : 'Only counts are stored of these runs.');
    const groups = group.value === 'program' ? `, in ${counted(rows.length)} groups of the same run, problem, program and verdict` : '';
    byId('sample-count').textContent = samples.size
      ? `${counted(left)} of ${counted(samples.size)} samples${groups}`
      : 'only counts are stored of these runs';
    this.showFilters();
  }

  showFilters() {
    const { run, status, problem, text, ms } = this.controls;
    const chips = chipsOf([run, status, problem, text, ms]);
    if (this.cause) chips.push({ label: this.cause, clear: () => { this.cause = ''; } });
    if (this.near) chips.push({ label: 'over half of the time limit', clear: () => { this.near = false; } });
    showChips(byId('sample-chips'), chips, () => this.search());
    keepAddress('samples', [...Object.entries(this.controls).map(([name, control]) => /** @type {[string, string]} */ ([name,
      name === 'where' && control.value === 'message' ? '' : control.value.trim()])), ['cause', this.cause], ['near', this.near ? '1' : '']]);
  }

  /**
   * Show what an address asks for, and nothing of what was asked for before.
   * @param {URLSearchParams} wanted
   */
  open(wanted) {
    for (const [name, control] of Object.entries(this.controls)) {
      control.value = wanted.get(name) ?? (name === 'where' ? 'message' : '');
      if (control.options && control.selectedIndex < 0) control.selectedIndex = 0;
    }
    this.cause = wanted.get('cause') ?? '';
    this.near = wanted.has('near');
    this.search();
  }
}
