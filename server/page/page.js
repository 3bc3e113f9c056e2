// The page at `/`: every lock that is held. It reads rows as a read-only token may, and asks the lock route for one thing
// only, to give a lock back by hand. Whatever comes from a row reaches the page as text.

import { age, chips, curlLine, decode, expiry, instant, parse, span } from './rows.js';

const REFRESH_MS = 2000;
const QUIET_MS = 300;      // how long the filter has to rest before it is sent
const MOST_WAITERS = 100;
const TOKEN = 'fencehold-token';

const $ = (id) => document.getElementById(id);
const state = {
  prefix: new URLSearchParams(location.search).get('prefix') ?? '',
  size: 25,
  before: [],              // the cursors of the pages before this one
  after: null,
  next: null,
  rows: [],
  at: Date.now(),          // the server's time of day when it answered last
  paused: false,
  mayRelease: false,
  open: null,              // the key whose drawer is open
  asked: 0,                // the number of the last call for a page: an older answer is too late
};

class Denied extends Error {}

async function call(path, body) {
  const headers = { 'Content-Type': 'application/json' };
  const token = sessionStorage.getItem(TOKEN);
  if (token) headers.Authorization = `Bearer ${token}`;
  const answer = await fetch(new URL(path, document.baseURI), {
    method: 'POST', headers, body, cache: 'no-store', credentials: 'omit', signal: AbortSignal.timeout(15000),
  });
  const text = await answer.text();
  if (answer.status === 401) throw new Denied(token ? 'The server does not take this token.' : '');
  if (!answer.ok) throw new Error(reasonOf(answer.status, text));
  return parse(text);
}

function reasonOf(status, text) {
  try {
    const { error, detail } = JSON.parse(text);
    return detail ? `${error}: ${detail}` : error;
  } catch {
    return `status ${status}`;
  }
}

const listRows = (namespace, prefix, limit, more) =>
  call('api/v1/resources/kv/list', JSON.stringify({ namespace, prefix, limit, includeExpired: false, ...more }));

function tell(message) {
  if ($('status').textContent !== message) $('status').textContent = message;
}

function warn(message) {
  if ($('alert').textContent !== message) $('alert').textContent = message;
}

// ---- the table

/** Loads the page that is shown. What was shown stays when that fails. */
async function load() {
  const asked = ++state.asked;
  const more = { waiting: true, ...(state.after === null ? {} : { after: state.after }) };
  let page;
  try {
    page = await listRows('queen-locks', state.prefix, state.size, more);
  } catch (error) {
    if (asked === state.asked) failed(error);
    return;
  }
  if (asked !== state.asked) return;
  if (page.rows.length === 0 && state.before.length > 0 && page.nextAfter === null) {
    // The last page has emptied meanwhile.
    state.after = state.before.pop();
    await load();
    return;
  }
  warn('');
  state.rows = page.rows.map(decode);
  state.next = page.nextAfter;
  state.at = instant(page.at);
  show(state.at, page.held);
}

function failed(error) {
  if (error instanceof Denied) {
    signIn(error.message);
  } else {
    warn(`Not refreshed: ${error.message}`);
  }
}

function cells(row, now, chip) {
  return [
    ['', row.name, chip], ['', row.owner ?? '–'], ['wide', row.label ?? ''], ['wide number', String(row.waiting || '')],
    ['wide', span(now - row.since)], ['wide', age(now - row.renewedAt)], ['', expiry(row.expiresAt - now)],
  ];
}

function makeRow(row) {
  const tr = document.createElement('tr');
  tr.dataset.key = row.key;
  for (const [index, [kind]] of cells(row, 0, '').entries()) {
    const cell = tr.insertCell();
    cell.className = kind;
    const text = document.createElement('bdi');
    if (index === 0) {
      const button = document.createElement('button');
      const chip = document.createElement('span');
      button.type = 'button';
      button.append(text, chip);
      button.addEventListener('click', () => openDrawer(row.key));
      cell.append(button);
    } else {
      cell.append(text);
    }
  }
  return tr;
}

/** Shows the rows; what stays is kept as it is, so that neither focus nor selection is lost. */
function show(now, held) {
  const body = $('rows');
  const kept = new Map([...body.rows].map((tr) => [tr.dataset.key, tr]));
  const chip = chips(state.rows);
  const wanted = state.rows.map((row) => kept.get(row.key) ?? makeRow(row));
  for (const [at, row] of state.rows.entries()) {
    for (const [index, [, text, note]] of cells(row, now, chip.has(row.key) ? `slot ${row.slot}` : '').entries()) {
      const cell = wanted[at].cells[index];
      const place = cell.querySelector('bdi');
      if (place.textContent !== text) place.textContent = text;
      if (index === 0) {
        const mark = cell.querySelector('span');
        if (mark.textContent !== note) mark.textContent = note;
        mark.className = note ? 'chip' : '';
      }
    }
  }
  const isSame = body.rows.length === wanted.length && wanted.every((tr, at) => body.rows[at] === tr);
  if (!isSame) {
    const focused = body.contains(document.activeElement) ? document.activeElement.closest('tr').dataset.key : null;
    const place = [...body.rows].findIndex((tr) => tr.dataset.key === focused);
    body.replaceChildren(...wanted);
    if (focused !== null && $('drawer').open === false) {
      const row = wanted.find((tr) => tr.dataset.key === focused) ?? wanted[Math.min(place, wanted.length - 1)];
      row?.querySelector('button').focus({ preventScroll: true });
    }
  }
  $('empty').hidden = state.rows.length > 0;
  $('empty').textContent = state.prefix ? 'No held lock has a name that begins so.' : 'Nothing is held.';
  $('total').textContent = `${held.toLocaleString('en')} held`;
  $('page').textContent = `Page ${state.before.length + 1}`;
  $('previous').disabled = state.before.length === 0;
  $('next').disabled = state.next === null;
  $('list').hidden = false;
  $('pause').hidden = false;
}

function goTo(before, after) {
  Object.assign(state, { before, after });
  return load();
}

// ---- the drawer: whatever arrives later is below the buttons, so that none moves under a hand

async function openDrawer(key) {
  state.open = key;
  const row = state.rows.find((other) => other.key === key);
  if (!row) return;
  fill(row, state.at);
  $('drawer-state').textContent = '';
  $('waiters').replaceChildren();
  $('line').hidden = true;
  $('drawer').showModal();
  $('drawer').scrollTop = 0;
  await look();
}

/** Reads the row of the drawer again, and who waits for its lock. */
async function look() {
  const key = state.open;
  if (key === null) return;
  const name = decode({ key, value: {} }).name;
  try {
    const [held, line] = await Promise.all([
      listRows('queen-locks', key, 1, { waiting: true }),
      listRows('fencehold-queues', `${name}#`, MOST_WAITERS),
    ]);
    if (state.open !== key) return;
    const found = held.rows.find((row) => row.key === key);
    if (found) fill(decode(found), instant(held.at));
    $('drawer-state').textContent = found ? '' : 'Not held any more.';
    if (!found) $('release').disabled = true;
    showLine(line);
  } catch (error) {
    if (error instanceof Denied) {
      $('drawer').close();
      signIn(error.message);
    } else {
      $('drawer-state').textContent = `Not refreshed: ${error.message}`;
    }
  }
}

function fill(row, now) {
  state.shown = row;
  $('drawer-name').textContent = row.name;
  const at = (time) => (Number.isNaN(time) ? '' : `, ${new Date(time).toISOString().slice(0, 19)}Z`);
  const facts = [
    ['Slot', String(row.slot ?? '–')],
    ['Holder', row.owner ?? '–'],
    ['Label', row.label ?? '–'],
    ['Held for', span(now - row.since) + at(row.since)],
    ['Renewed', age(now - row.renewedAt) + at(row.renewedAt)],
    ['Expires', expiry(row.expiresAt - now) + at(row.expiresAt)],
    ['Lifetime', span(Math.round((row.expiresAt - row.renewedAt) / 1000) * 1000)],
    ['Token', row.token],
  ];
  const list = $('facts');
  if (list.children.length === 0) {
    for (const [name] of facts) {
      const [term, fact] = [document.createElement('dt'), document.createElement('dd')];
      term.textContent = name;
      fact.append(document.createElement('bdi'));
      list.append(term, fact);
    }
  }
  for (const [index, [, text]] of facts.entries()) put(list.querySelectorAll('bdi')[index], text);
  put($('row'), row.raw);
  $('guard-part').hidden = row.foreign;
  $('release-part').hidden = row.foreign;
  $('release').hidden = !state.mayRelease;
  $('release').disabled = false;
  if (!row.foreign) {
    put($('guard'), row.guard);
    put($('curl'), curlLine(new URL('api/v1/locks', document.baseURI).href, row, sessionStorage.getItem(TOKEN) !== null));
  }
}

function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function showLine(line) {
  const items = line.rows.map((row) => {
    const item = document.createElement('li');
    const text = document.createElement('bdi');
    const { owner, label } = row.value ?? {};
    text.textContent = label ? `${owner} (${label})` : String(owner);
    item.append(text);
    return item;
  });
  $('waiters').replaceChildren(...items);
  $('line').hidden = items.length === 0;
  $('more-waiters').textContent = line.truncated ? `Only the first ${MOST_WAITERS} are shown.` : '';
}

async function copy(button) {
  const text = $(button.dataset.of);
  try {
    await navigator.clipboard.writeText(text.textContent);
    $('drawer-state').textContent = 'Copied.';
  } catch {
    // No clipboard without TLS: it is selected instead.
    getSelection().selectAllChildren(text);
    $('drawer-state').textContent = 'Selected; copy it with the keyboard.';
  }
}

// ---- giving a lock back by hand

let doomed = null;

function askToRelease() {
  doomed = state.shown;
  $('confirm-name').textContent = doomed.name;
  $('confirm-owner').textContent = doomed.owner ?? 'The holder';
  $('confirm').showModal();
  $('confirm-no').focus();
}

async function release() {
  $('confirm').close();
  try {
    const { results: [result] } = await call('api/v1/locks', `[${doomed.releaseBody}]`);
    $('drawer').close();
    tell(result.released
      ? `Released ${doomed.name}.`
      : `${doomed.name} was renewed or given back meanwhile; nothing was changed.`);
    await load();
  } catch (error) {
    $('drawer-state').textContent = `Not released: ${error.message}`;
  }
}

/** Whether this token may give locks back: an empty call changes nothing and needs that right. */
async function askForRights() {
  try {
    await call('api/v1/locks', '[]');
    state.mayRelease = true;
  } catch {
    state.mayRelease = false;
  }
}

// ---- signing in

function signIn(message) {
  const isKnown = sessionStorage.getItem(TOKEN) !== null;
  sessionStorage.removeItem(TOKEN);
  for (const dialog of [$('confirm'), $('drawer')]) if (dialog.open) dialog.close();
  $('list').hidden = true;
  $('pause').hidden = true;
  $('sign-out').hidden = true;
  $('rows').replaceChildren();
  $('total').textContent = '';
  warn(isKnown ? message : '');
  $('sign-in').hidden = false;
  $('token').focus();
}

async function begin() {
  $('sign-in').hidden = true;
  $('sign-out').hidden = sessionStorage.getItem(TOKEN) === null;
  await load();
  if ($('sign-in').hidden) await askForRights();
}

// ---- what a person does

$('sign-in').addEventListener('submit', (event) => {
  event.preventDefault();
  sessionStorage.setItem(TOKEN, $('token').value.trim());
  $('token').value = '';
  begin();
});

$('sign-out').addEventListener('click', () => {
  sessionStorage.removeItem(TOKEN);
  state.asked += 1;
  signIn('');
});

let resting;
$('prefix').addEventListener('input', () => {
  clearTimeout(resting);
  resting = setTimeout(filter, QUIET_MS);
});
$('filter').addEventListener('submit', (event) => {
  event.preventDefault();
  clearTimeout(resting);
  filter();
});

function filter() {
  state.prefix = $('prefix').value;
  const address = new URL(location.href);
  if (state.prefix) address.searchParams.set('prefix', state.prefix);
  else address.searchParams.delete('prefix');
  history.replaceState(null, '', address);
  goTo([], null);
}

$('size').addEventListener('change', () => {
  state.size = Number($('size').value);
  goTo([], null);
});
$('next').addEventListener('click', () => {
  if (state.next !== null) goTo([...state.before, state.after], state.next);
});
$('previous').addEventListener('click', () => {
  if (state.before.length > 0) goTo(state.before.slice(0, -1), state.before.at(-1));
});

$('pause').addEventListener('click', () => {
  state.paused = !state.paused;
  $('pause').setAttribute('aria-pressed', String(state.paused));
  tell(state.paused ? 'Paused: this is how it was.' : '');
  if (!state.paused) load();
});

$('rows').addEventListener('keydown', (event) => {
  const buttons = [...$('rows').querySelectorAll('button')];
  const at = buttons.indexOf(document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
  if (to === undefined || !buttons[to]) return;
  event.preventDefault();
  buttons[to].focus();
});

$('drawer-close').addEventListener('click', () => $('drawer').close());
$('drawer').addEventListener('click', (event) => {
  if (event.target === $('drawer')) {
    const box = $('drawer').getBoundingClientRect();
    if (event.clientX < box.left) $('drawer').close();
  }
});
$('drawer').addEventListener('close', () => {
  const tr = [...$('rows').rows].find((other) => other.dataset.key === state.open) ?? $('rows').rows[0];
  state.open = null;
  (tr?.querySelector('button') ?? $('prefix')).focus();
});
for (const button of document.querySelectorAll('.copy')) button.addEventListener('click', () => copy(button));
$('release').addEventListener('click', askToRelease);
$('confirm-no').addEventListener('click', () => $('confirm').close());
$('confirm-yes').addEventListener('click', release);

async function refresh() {
  if (!state.paused && !document.hidden && $('sign-in').hidden) {
    await load();
    if ($('drawer').open) await look();
  }
  setTimeout(refresh, REFRESH_MS);
}

$('prefix').value = state.prefix;
begin().then(() => setTimeout(refresh, REFRESH_MS));
