/**
 * Make an element; text is always text, never markup.
 * @param {string} tag
 * @param {Record<string, string|number|boolean|null|undefined|((event: any) => void)>} attributes
 * @param {...(Node|string|number|null|undefined|false)} children
 * @returns {any}
 */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  element.append(.../** @type {(Node|string)[]} */ (
    children.filter((child) => child !== null && child !== undefined && child !== false)
      .map((child) => (typeof child === 'number' ? String(child) : child))));
  return element;
}

/**
 * Make an SVG element.
 * @param {string} tag
 * @param {Record<string, string|number>} attributes
 * @param {...Node} children
 */
function draw(tag, attributes, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/**
 * Show text of a stranger so that its direction stays its own.
 * @param {string} text
 */
function isolate(text) {
  return make('bdi', {}, text);
}

/**
 * Return the colour of a run.
 * @param {number} run
 */
function runKey(run) {
  return make('span', { class: `key s${run % 8}`, 'aria-hidden': 'true' });
}

/**
 * Return the address of a problem or a sample on this page.
 * @param {number} problem
 * @param {number} [index]
 * @param {number} [run]
 */
function address(problem, index, run) {
  const name = core.problems[problem].split('/').map(encodeURIComponent).join('/');
  return `#${name}${index === undefined ? '' : `/${index}`}${run ? `?run=${run}` : ''}`;
}

/**
 * Return a test for a text: a part of it in any case, or a pattern between slashes; null where the pattern is none.
 * @param {string} wanted
 * @returns {((text: string) => boolean)|null}
 */
function matcher(wanted) {
  const pattern = /^\/(.+)\/([imsu]*)$/s.exec(wanted);
  if (!pattern) {
    const lower = wanted.toLowerCase();
    return (text) => text.toLowerCase().includes(lower);
  }
  try {
    const expression = new RegExp(pattern[1], pattern[2]);
    return (text) => expression.test(text);
  } catch {
    return null;
  }
}

/**
 * Return a number with separators between thousands.
 * @param {number} value
 */
function counted(value) {
  return value.toLocaleString('en-US');
}

/**
 * Return a share or a difference of shares without the zero before the point; a bare 0 or 1 only where it is exact.
 * @param {number} value
 */
function share(value) {
  if (value > 0 && value < 0.005) return '<.01';
  if (value >= 0.995 && value < 1) return '>.99';
  return value.toFixed(2).replace(/^0/, '');
}

/**
 * Return a time in milliseconds, with three digits.
 * @param {number} seconds
 */
function milliseconds(seconds) {
  const value = seconds * 1000;
  return value >= 100 ? counted(Math.round(value)) : value > 0 ? value.toPrecision(3) : '0';
}

/**
 * Call a function once its caller has been quiet for a moment.
 * @param {() => void} action
 */
function debounced(action) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(action, 60);
  };
}
