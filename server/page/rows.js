// Reading rows, and the words for times. Nothing here touches the page.

/** Parses JSON with versions as text: they may be above what a number of JavaScript holds exactly. */
export function parse(text) {
  return JSON.parse(text, (key, value, context) =>
    key === 'version' && typeof value === 'number' ? context?.source ?? String(value) : value);
}

export const instant = (text) => Date.parse(text);

/** A row as the page shows it. `foreign`: not written by an acquire, so nothing is offered but a look. */
export function decode(row) {
  const at = row.key.lastIndexOf('#');
  const slotText = row.key.slice(at + 1);
  const isPermit = at > 0 && /^(0|[1-9][0-9]{0,3})$/.test(slotText);
  const value = row.value;
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const name = isPermit ? row.key.slice(0, at) : row.key;
  const slot = isPermit ? Number(slotText) : null;
  const token = String(row.version);
  const text = (member) => (isObject && typeof value[member] === 'string' ? value[member] : null);
  const releaseBody = `{"op":"release","name":${JSON.stringify(name)},${slot > 0 ? `"slot":${slot},` : ''}"token":${token}}`;
  return {
    key: row.key,
    name,
    slot,
    token,
    owner: text('owner'),
    label: text('label'),
    waiting: row.waiting ?? 0,
    since: instant(text('since') ?? row.updatedAt),
    renewedAt: instant(row.updatedAt),
    expiresAt: row.expiresAt === null ? Infinity : instant(row.expiresAt),
    foreign: !isPermit || !isObject || !Object.hasOwn(value, 'owner'),
    raw: `${JSON.stringify({ ...row, version: undefined, waiting: undefined }, null, 2).slice(0, -2)},\n  "version": ${token}\n}`,
    guard: `{"op":"check","ns":"queen-locks","key":${JSON.stringify(row.key)},"expect":${token},"required":true}`,
    releaseBody,
  };
}

/** The keys that need their slot said: those above 0, and those of a name that the page has more than once. */
export function chips(rows) {
  const count = new Map();
  for (const { name } of rows) count.set(name, (count.get(name) ?? 0) + 1);
  return new Set(rows.filter((row) => row.slot > 0 || (row.slot !== null && count.get(row.name) > 1)).map((row) => row.key));
}

/** A length of time in its two largest units. */
export function span(ms) {
  if (!Number.isFinite(ms)) return 'no end';
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const parts = [[Math.floor(seconds / 86400), 'd'], [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'm'], [seconds % 60, 's']];
  const first = parts.findIndex(([number]) => number > 0);
  if (first === -1) return '0s';
  return parts.slice(first, first + 2).filter(([number], at) => at === 0 || number > 0)
    .map(([number, unit]) => number + unit).join(' ');
}

export const age = (ms) => (ms < 1000 ? 'just now' : `${span(ms)} ago`);

export const expiry = (ms) => {
  if (ms === Infinity) return 'never';
  return ms < 1000 ? 'now' : `in ${span(ms)}`;
};

/** The release as a line for a shell, whatever characters the name has. */
export function curlLine(url, row, needsToken) {
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const token = needsToken ? ' -H "Authorization: Bearer $FENCEHOLD_AUTH_TOKEN"' : '';
  return `curl -fsS ${quoted(url)} -H 'Content-Type: application/json'${token} -d ${quoted(`[${row.releaseBody}]`)}`;
}
