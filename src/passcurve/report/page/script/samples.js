/** The view of the samples: find, filter, sort, group. */
class SampleView {
  constructor() {
    /** @type {Set<string>|null} */
    this.inPrograms = null;
    this.near = false;
    this.counts = new Map();
    for (let at = 0; at < samples.size; at += 1) {
      const key = samples.groupKey(at);
      this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
    }
    core.statuses.forEach((status) => byId('sample-status').append(make('option', { value: status }, status)));
    this.grid = new Grid(byId('sample-grid'), 'Samples', this.columns(), (row) => { location.hash = this.link(row); });
    const controls = ['run', 'status', 'problem', 'text', 'where', 'seconds', 'group'];
    for (const name of controls) {
      byId(`sample-${name}`)?.addEventListener('input', debounced(() => {
        this.near = false;
        this.search();
      }));
    }
    this.filter();
  }

  /** @returns {Column[]} */
  columns() {
    /** @type {Column[]} */
    const columns = [
      { name: 'sample', width: 'minmax(130px, 2fr)', cell: (row) => make('a', { href: this.link(row) },
        isolate(`${core.problems[samples.problem[row]]}/${samples.index[row]}`)),
      key: (row) => samples.problem[row] * 0x1000000 + samples.index[row] },
      { name: 'status', width: '84px', cell: (row) => this.status(row), key: (row) => samples.status[row] },
      { name: 'seconds', width: '78px', number: true, first: 'down', cell: (row) => samples.own[row].toFixed(3),
        key: (row) => samples.own[row] },
      { name: 'MiB', width: '60px', number: true, first: 'down', cell: (row) => samples.memory[row].toFixed(0),
        key: (row) => samples.memory[row] },
      { name: 'alike', width: '60px', number: true, first: 'down', cell: (row) => counted(this.alike(row)),
        key: (row) => this.alike(row) },
      { name: 'message', width: 'minmax(160px, 5fr)', cell: (row) => isolate(this.message(row)), key: (row) => this.message(row) },
    ];
    if (core.runs.length > 1) {
      columns.splice(1, 0, { name: 'run', width: 'minmax(70px, 1fr)', cell: (row) => isolate(core.runs[samples.run[row]].name),
        key: (row) => samples.run[row] });
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
    const wanted = byId('sample-text').value.trim();
    this.inPrograms = null;
    if (matcher(wanted) === null) {
      byId('sample-count').textContent = `${wanted} is no pattern`;
      return;
    }
    if (wanted && byId('sample-where').value === 'program') {
      const test = matcher(wanted);
      byId('sample-count').textContent = 'looking through the programs ...';
      const found = new Set();
      for (let position = 0; test && position < core.problems.length; position += 1) {
        const entry = await entryOf(position);
        entry.groups.forEach((groups, run) => groups.forEach((group, at) => {
          if (group.program !== undefined && test(group.program)) found.add(`${run}.${position}.${at}`);
        }));
      }
      this.inPrograms = found;
    }
    this.filter();
  }

  filter() {
    const run = byId('sample-run')?.value ?? '';
    const status = byId('sample-status').value;
    const problem = byId('sample-problem').value.trim();
    const text = byId('sample-text').value.trim();
    const seconds = Number(byId('sample-seconds').value) || 0;
    const grouped = byId('sample-group').value === 'program';
    const test = text && !this.inPrograms ? matcher(text) : null;
    const isProblem = problem ? matcher(problem) : null;
    const problems = core.problems.map((name) => !isProblem || name === problem || isProblem(name));
    const exact = core.problems.indexOf(problem);
    const messages = core.runs.map((one) => one.messages.map((message) => !test || test(message)));
    const passed = core.statuses.indexOf('passed');
    const seen = new Set();
    const rows = [];
    for (let row = 0; row < samples.size; row += 1) {
      const at = samples.run[row];
      if (run !== '' && at !== Number(run)) continue;
      if (status === '!passed' ? samples.status[row] === passed : status && core.statuses[samples.status[row]] !== status) continue;
      if (exact >= 0 ? samples.problem[row] !== exact : !problems[samples.problem[row]]) continue;
      if (samples.own[row] < seconds || !messages[at][samples.message[row]]) continue;
      if (this.near && samples.own[row] < 0.5 * (core.runs[at].limits?.timeout_s ?? Infinity)) continue;
      const key = grouped || this.inPrograms ? samples.groupKey(row) : '';
      if (this.inPrograms && !this.inPrograms.has(key)) continue;
      if (grouped && seen.has(key)) continue;
      seen.add(key);
      rows.push(row);
    }
    this.grid.fill(rows);
    byId('sample-count').textContent = samples.size
      ? `${counted(rows.length)} of ${counted(samples.size)} samples`
      : 'only counts are stored of these runs';
  }

  /**
   * Show what an address asks for.
   * @param {URLSearchParams} wanted
   */
  open(wanted) {
    for (const name of ['run', 'status', 'problem', 'text', 'where', 'seconds', 'group']) {
      const control = byId(`sample-${name}`);
      if (control && wanted.has(name)) control.value = wanted.get(name);
    }
    this.near = wanted.has('near');
    this.search();
  }
}
