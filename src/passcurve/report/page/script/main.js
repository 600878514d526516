/** @type {HTMLElement[]} */
const views = [...document.querySelectorAll('main > section')].map((view) => /** @type {HTMLElement} */ (view));

/**
 * Show one view.
 * @param {string} name
 */
function show(name) {
  for (const view of views) view.hidden = view.id !== name;
  for (const link of document.querySelectorAll('nav a')) {
    if (link.getAttribute('href') === `#${name}`) {
      link.setAttribute('aria-current', 'page');
      // On a telephone the bar scrolls.
      const bar = link.closest('ul');
      if (bar) bar.scrollLeft = /** @type {HTMLElement} */ (link).offsetLeft - innerWidth / 3;
    } else {
      link.removeAttribute('aria-current');
    }
  }
}

/**
 * Return what an address names: a view, a problem or a sample.
 * @param {string} hash
 * @returns {{view: string, wanted: URLSearchParams, problem: number, index: number, unknown: string}}
 */
function read(hash) {
  const [path, query] = hash.replace(/^#/, '').split('?');
  const wanted = new URLSearchParams(query ?? '');
  let name = path;
  try {
    name = decodeURIComponent(path);
  } catch {
    // It is taken as it stands.
  }
  const nothing = { wanted, problem: -1, index: -1, unknown: '' };
  if (views.some((view) => view.id === name)) return { ...nothing, view: name };
  const whole = core.problems.indexOf(name);
  if (whole >= 0) return { ...nothing, view: 'samples', problem: whole };
  const parts = /^(.*)\/(\d+)$/s.exec(name);
  const problem = parts ? core.problems.indexOf(parts[1]) : -1;
  if (parts && problem >= 0) return { ...nothing, view: 'samples', problem, index: Number(parts[2]) };
  return { ...nothing, view: 'overview', unknown: name };
}

/**
 * @param {ProblemView} problems
 * @param {SampleView} list
 * @param {Inspector} inspector
 */
async function route(problems, list, inspector) {
  // The link that skips the bar names no view.
  if (location.hash === '#content') return;
  const { view, wanted, problem, index, unknown } = read(location.hash);
  show(view);
  if (index < 0) window.scrollTo(0, 0);
  trouble(unknown && `This report has no view, problem or sample "${unknown}"; this is the overview.`);
  const isAsked = [...wanted.keys()].length > 0;
  if (view === 'problems' && isAsked) problems.open(wanted);
  else if (view === 'problems') problems.filter();
  if (view !== 'samples') return;
  if (index < 0) {
    if (problem >= 0) wanted.set('problem', core.problems[problem]);
    if (isAsked || problem >= 0) list.open(wanted);
    inspector.close();
    list.showFilters();
    return;
  }
  const row = samples.find(Number(wanted.get('run') ?? 0), problem, index);
  if (row < 0) {
    const name = core.runs[Number(wanted.get('run') ?? 0)]?.name;
    trouble(`There is no judged sample ${index} of ${core.problems[problem]} in ${name ?? 'a run of that number'}.`);
    inspector.close();
    return;
  }
  await inspector.open(row);
}

/**
 * Say what is wrong, above all views; an empty text takes it away.
 * @param {string} text
 */
function trouble(text) {
  byId('trouble').textContent = text;
  byId('trouble').hidden = !text;
}

/** @param {Inspector} inspector @param {SampleView} list */
function listen(inspector, list) {
  document.addEventListener('keydown', (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.key === 'Escape' && !inspector.place.hidden) location.hash = '#samples';
    if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|SELECT|TEXTAREA/.test(target.tagName)) return;
    if (event.key === '/') {
      if (byId('samples').hidden && byId('problems').hidden) location.hash = '#samples';
      event.preventDefault();
      setTimeout(() => byId(byId('samples').hidden ? 'problem-text' : 'sample-text').focus());
    }
    const step = { j: 1, k: -1 }[event.key];
    if (step && !byId('samples').hidden) {
      const next = list.grid.chosen < 0 ? list.grid.rows[0] ?? -1 : list.grid.beside(step);
      if (next >= 0) location.hash = list.link(next);
    }
  });
}

/**
 * Give the button its name, after the theme is changed where that is wanted.
 * @param {boolean} isWanted
 */
function changeTheme(isWanted) {
  const root = document.documentElement;
  let isDark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  if (isWanted) {
    isDark = !isDark;
    root.dataset.theme = isDark ? 'dark' : 'light';
  }
  byId('theme').textContent = isDark ? 'Light theme' : 'Dark theme';
}

/**
 * Say how far the runs are, where a server tells it.
 * @param {string} place
 */
function watch(place) {
  const wanted = new Set(new URLSearchParams(location.search).getAll('run'));
  let first = '';
  new EventSource(place).addEventListener('message', (event) => {
    const runs = /** @type {{name: string, judged: number, passed: number, finished: boolean}[]} */ (JSON.parse(event.data))
      .filter((run) => wanted.has(run.name));
    const text = runs.map((run) =>
      `${run.name}: ${counted(run.judged)} judged, ${counted(run.passed)} passed${run.finished ? ', finished' : ' so far'}`).join('; ');
    first = first || text;
    byId('live').textContent = text + (text === first ? '' : '. Load the page again for the report on them.');
    byId('live').hidden = false;
  });
}

async function start() {
  if (document.documentElement.dataset.events) watch(document.documentElement.dataset.events);
  // On a telephone each row is a card, and each value has its heading beside it.
  for (const table of /** @type {NodeListOf<HTMLTableElement>} */ (document.querySelectorAll('table.cards'))) {
    const heads = [...table.tHead?.rows[0].cells ?? []].map((cell) => cell.textContent ?? '');
    table.dataset.cards = '';
    for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, at) => (cell.dataset.label ??= heads[at]));
  }
  changeTheme(false);
  byId('theme').addEventListener('click', () => changeTheme(true));
  byId('pair')?.addEventListener('input', () => {
    for (const pair of document.querySelectorAll('.pair')) {
      /** @type {HTMLElement} */ (pair).hidden = pair.getAttribute('data-pair') !== byId('pair').value;
    }
  });
  show(views.some((view) => `#${view.id}` === location.hash) ? location.hash.slice(1) : 'overview');
  if (!('DecompressionStream' in window)) {
    trouble('This browser cannot unpack the samples (DecompressionStream); scores and figures are complete.');
    return;
  }
  core = await unpack('core');
  samples = new Samples(core.runs);
  const problems = new ProblemView();
  const list = new SampleView();
  const inspector = new Inspector(list);
  listen(inspector, list);
  const follow = () => route(problems, list, inspector);
  window.addEventListener('hashchange', follow);
  await follow();
  performance.mark('ready');
  document.documentElement.dataset.ready = 'true';
}

start();
