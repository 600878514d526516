const LONGEST_DIFF = 500;

/** One sample: what was asked, what the model wrote, what became of it, and why. */
class Inspector {
  /** @param {SampleView} view */
  constructor(view) {
    this.view = view;
    this.place = byId('inspector');
  }

  close() {
    this.place.hidden = true;
    this.view.grid.choose(-1);
  }

  /** @param {number} row */
  async open(row) {
    const position = samples.problem[row];
    const entry = await entryOf(position);
    const group = entry.groups[samples.run[row]][samples.group[row]];
    const status = core.statuses[samples.status[row]];
    const run = core.runs[samples.run[row]];
    const several = core.runs.length > 1;
    this.place.replaceChildren(
      make('h2', {}, several && runKey(samples.run[row]), several && isolate(run.name), several && ' · ',
        isolate(core.problems[position]), ` · sample ${samples.index[row]} `, make('span', { class: `status ${status}` }, status)),
      this.tools(row),
      this.facts(row, run, group),
      ...this.failure(group, status),
      ...this.program(group),
      ...this.reply(group),
      ...folded('Prompt', entry.prompt),
      ...folded('Tests', entry.tests),
      this.others(row),
    );
    this.place.hidden = false;
    this.view.grid.choose(row);
    // Its title is in sight at once, and where there is room the filters that led to it.
    (innerWidth > 700 ? byId('sample-filters') : this.place).scrollIntoView({ block: 'start' });
  }

  /** @param {number} row */
  tools(row) {
    const go = (/** @type {number} */ step) => () => {
      const next = this.view.grid.beside(step);
      if (next >= 0) location.hash = this.view.link(next);
    };
    const note = make('span', { class: 'muted', role: 'status' });
    const copy = async () => {
      try {
        await navigator.clipboard.writeText(location.href.replace(/#.*/, '') + this.view.link(row));
        note.textContent = location.protocol === 'file:' ? 'Copied: it names the file on this machine.' : 'Copied.';
      } catch {
        note.textContent = 'This browser does not let the page copy; the address bar has the link.';
      }
    };
    return make('div', { class: 'tools' },
      make('button', { type: 'button', click: go(-1) }, 'Previous'),
      make('button', { type: 'button', click: go(1) }, 'Next'),
      make('button', { type: 'button', click: () => { location.hash = '#samples'; } }, 'Close'),
      make('button', { type: 'button', click: copy }, 'Copy link'), note);
  }

  /**
   * @param {number} row
   * @param {RunData} run
   * @param {Group} group
   */
  facts(row, run, group) {
    const limits = run.limits;
    const columns = /** @type {Columns} */ (run.columns);
    const tokens = columns.tokens.length ? columns.tokens[samples.place[row]] : -1;
    const limit = run.limits_s[samples.problem[row]];
    const measured = run.dedup && this.view.alike(row) > 1 ? ', measured once for all that are alike' : '';
    /** @type {[string, Node|string|undefined|false][]} */
    const facts = [
      ['Message', group.message && isolate(group.message)],
      ['Tests', group.suites?.map((text) => text.replace(/^tests: /, '')).join('; ')],
      ['Time', `${milliseconds(samples.own[row])} ms${limit !== null ? ` of ${counted(limit * 1000)}` : ''}${measured}`],
      ['Memory', `${samples.memory[row].toFixed(0)} MiB${limits ? ` of ${counted(Math.round(limits.memory_bytes / 1048576))}` : ''}${measured}`],
      ['Tests ran', { referee: 'in a process of their own', shared: 'beside the sample', none: 'not at all' }[group.mode ?? '']],
      ['Extraction', group.steps?.length ? isolate(group.steps.join('; ')) : undefined],
      ['Tokens', tokens >= 0 && counted(tokens)],
      ['Suspicious', group.suspicious?.length ? isolate(group.suspicious.join(', ')) : undefined],
      ['Made plain data', group.flattened?.length ? isolate(group.flattened.join(', ')) : undefined],
    ];
    const list = make('dl', { class: 'facts' });
    for (const [name, value] of facts) if (value) list.append(make('dt', {}, name), make('dd', {}, value));
    return list;
  }

  /**
   * @param {Group} group
   * @param {string} status
   */
  failure(group, status) {
    const shown = [];
    if (group.arguments !== undefined || group.outcome !== undefined) {
      shown.push(make('h3', {}, 'The call that failed'));
      const list = make('dl', { class: 'facts' }, make('dt', {}, 'input'), make('dd', { class: 'mono' }, isolate(group.arguments ?? '')));
      const expected = make('dd', { class: 'mono' }, isolate(group.expected ?? ''));
      const unknown = status === 'timeout' ? 'not compared: the call took too long'
        : `not one value: ${group.test_line ? 'the line below decides' : 'the tests decide'}`;
      list.append(make('dt', {}, 'expected'), group.expected ? expected : make('dd', { class: 'muted' }, unknown));
      const got = make('dd', { class: 'mono' }, isolate(group.outcome ?? ''));
      const ended = make('dd', { class: 'muted' }, status === 'timeout' ? 'no answer within the limit' : 'no answer');
      list.append(make('dt', {}, 'got'), group.outcome ? got : ended);
      shown.push(list);
    }
    if (group.test_line) shown.push(make('h3', {}, 'At this line of the tests'), make('pre', {}, group.test_line));
    return shown;
  }

  /** @param {Group} group */
  program(group) {
    const title = make('h3', {}, 'Program');
    if (group.program !== undefined) return [title, coloured(group.program, group.runs ?? '')];
    const why = group.left_out ? 'It is not in this file, which would be too large; passcurve show prints it.'
      : group.missing || 'There is none: the text holds no code.';
    return [title, make('p', { class: 'muted' }, isolate(why))];
  }

  /** @param {Group} group */
  reply(group) {
    if (group.reply === undefined) return [];
    const [wrote, ran] = [group.reply.split('\n'), (group.program ?? '').split('\n')];
    const place = make('pre', {});
    for (const [kind, line] of difference(wrote, ran)) {
      place.append(kind === ' ' ? `  ${line}\n` : make(kind === '+' ? 'ins' : 'del', {}, `${kind} ${line}`));
    }
    const details = make('details', {}, make('summary', {}, 'What the model wrote, and what was run'),
      make('p', { class: 'muted' }, make('ins', { class: 'legend-line' }, '+ only in the program: from the prompt or a prelude'), ' ',
        make('del', { class: 'legend-line' }, '- only in the text of the model: not run')), place);
    return [details];
  }

  /** @param {number} row */
  others(row) {
    /** @type {number[]} */
    const alike = [];
    /** @type {number[]} */
    const beside = [];
    for (let at = 0; at < samples.size; at += 1) {
      if (samples.problem[at] !== samples.problem[row] || at === row) continue;
      if (samples.groupKey(at) === samples.groupKey(row)) alike.push(at);
      else beside.push(at);
    }
    const links = (/** @type {number[]} */ rows) => [...rows.slice(0, 40).flatMap((at) => [
      make('a', { href: this.view.link(at), class: `status ${core.statuses[samples.status[at]]}` }, String(samples.index[at])), ' ']),
    rows.length > 40 && `and ${counted(rows.length - 40)} more`];
    const several = core.runs.length > 1;
    return make('div', {},
      alike.length > 0 && make('p', {}, `${counted(alike.length + 1)} samples${several ? ' of this run' : ''} have this program and this verdict`
        + `${core.runs[samples.run[row]].dedup ? ' and share one measurement' : ''}; the others: `, ...links(alike)),
      ...core.runs.map((run, number) => {
        const rows = beside.filter((at) => samples.run[at] === number);
        return rows.length > 0 && make('p', {}, 'Other samples of this problem', several && ' in ', several && isolate(run.name), ': ', ...links(rows));
      }));
  }
}

/**
 * @param {string} title
 * @param {string} text
 */
function folded(title, text) {
  return text ? [make('details', {}, make('summary', {}, title), make('pre', {}, text))] : [];
}

/**
 * Return a program with its colours: runs are a kind and a length each, as in k3.1f5.
 * @param {string} text
 * @param {string} runs
 */
function coloured(text, runs) {
  const place = make('pre', { class: 'program' });
  let at = 0;
  for (const [, kind, size] of runs.matchAll(/([a-z.])(\d+)/g)) {
    const part = text.slice(at, at + Number(size));
    at += Number(size);
    place.append(kind === '.' ? part : make('span', { class: kind }, part));
  }
  place.append(text.slice(at));
  return place;
}

/**
 * Return the lines of both texts, each with ' ' (both), '-' (first only) or '+' (second only).
 * @param {string[]} one
 * @param {string[]} other
 * @returns {[string, string][]}
 */
function difference(one, other) {
  if (one.length > LONGEST_DIFF || other.length > LONGEST_DIFF) return one.map((line) => [' ', line]);
  const width = other.length + 1;
  const common = new Uint16Array((one.length + 1) * width);
  for (let i = one.length - 1; i >= 0; i -= 1) {
    for (let j = other.length - 1; j >= 0; j -= 1) {
      common[i * width + j] = one[i] === other[j] ? common[(i + 1) * width + j + 1] + 1
        : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
    }
  }
  /** @type {[string, string][]} */
  const lines = [];
  let [i, j] = [0, 0];
  while (i < one.length || j < other.length) {
    if (i < one.length && j < other.length && one[i] === other[j]) {
      lines.push([' ', one[i]]);
      i += 1;
      j += 1;
    } else if (j >= other.length || (i < one.length && common[(i + 1) * width + j] >= common[i * width + j + 1])) {
      lines.push(['-', one[i]]);
      i += 1;
    } else {
      lines.push(['+', other[j]]);
      j += 1;
    }
  }
  return lines;
}
