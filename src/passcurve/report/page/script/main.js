/** @type {HTMLElement[]} */
const views = [...document.querySelectorAll('main > section')].map((view) => /** @type {HTMLElement} */ (view));

/**
 * Show one view.
 * @param {string} name
 */
function show(name) {
  for (const view of views) view.hidden = view.id !== name;
  for (const link of document.querySelectorAll('nav a')) {
    if (link.getAttribute('href') === `#${name}`) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
}

/**
 * Return what an address names: a view, a problem or a sample.
 * @param {string} hash
 * @returns {{view: string, wanted: URLSearchParams, problem: number, index: number}}
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
  const nothing = { wanted, problem: -1, index: -1 };
  if (views.some((view) => view.id === name)) return { ...nothing, view: name };
  const whole = core.problems.indexOf(name);
  if (whole >= 0) return { ...nothing, view: 'samples', problem: whole };
  const parts = /^(.*)\/(\d+)$/s.exec(name);
  const problem = parts ? core.problems.indexOf(parts[1]) : -1;
  if (parts && problem >= 0) return { view: 'samples', wanted, problem, index: Number(parts[2]) };
  return { ...nothing, view: 'overview' };
}

/**
 * @param {ProblemView} problems
 * @param {SampleView} list
 * @param {Inspector} inspector
 */
async function route(problems, list, inspector) {
  const { view, wanted, problem, index } = read(location.hash);
  show(view);
  if (index < 0) window.scrollTo(0, 0);
  byId('trouble').hidden = true;
  if (view === 'problems') problems.open(wanted);
  if (view !== 'samples') return;
  if (index < 0) {
    if (problem >= 0) wanted.set('problem', core.problems[problem]);
    if ([...wanted.keys()].length) list.open(wanted);
    inspector.close();
    list.grid.paint();
    return;
  }
  const row = samples.find(Number(wanted.get('run') ?? 0), problem, index);
  if (row < 0) {
    byId('trouble').textContent = `There is no judged sample ${index} of ${core.problems[problem]} in this run.`;
    byId('trouble').hidden = false;
    return;
  }
  await inspector.open(row);
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

function changeTheme() {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  root.dataset.theme = isDark ? 'light' : 'dark';
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
  byId('theme').addEventListener('click', changeTheme);
  byId('pair')?.addEventListener('input', () => {
    for (const pair of document.querySelectorAll('.pair')) {
      /** @type {HTMLElement} */ (pair).hidden = pair.getAttribute('data-pair') !== byId('pair').value;
    }
  });
  show(views.some((view) => `#${view.id}` === location.hash) ? location.hash.slice(1) : 'overview');
  if (!('DecompressionStream' in window)) {
    byId('trouble').textContent = 'This browser cannot unpack the samples (DecompressionStream); scores and figures are complete.';
    byId('trouble').hidden = false;
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
