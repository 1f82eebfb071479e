// SPDX-License-Identifier: Apache-2.0
// How full shares are: a bar in lists, and a chart of how that came.
import {html, useState} from '../html.js';
import {get, id as quoted} from '../api.js';
import {bytes, minute, parse, time} from '../format.js';
import {usageOf} from '../known.js';
import {useLoad} from '../load.js';
import {S} from '../strings.js';
import {Bar} from './bars.js';
import {Facts, Loaded, Name, Section, Time} from './basics.js';
import {Choice} from './form.js';
import {link} from '../router.js';

const T = S.usage;
// Shares are measured every few minutes, and that is no event.
const OFTEN = 60000;
const FULL = 90;
const [WIDE, HIGH] = [600, 120];

const whole = (percent) => `${Math.floor(percent)} %`;

export function Use({id}) {
  const {value} = useLoad(() => usageOf(id), [id], () => false, OFTEN);
  if (!value) return S.none;
  const {percent_full: percent, used_bytes: used, limit_bytes: limit} = value;
  return html`<div class="use" title=${T.of(bytes(used), bytes(limit))}><${Bar} label=${whole(percent)} most=${100}
    parts=${[[percent >= FULL ? 'full' : 'used', Math.min(percent, 100)]]} /><span>${whole(percent)}</span></div>`;
}

// What a point holds: in a pool, snapshots take space, too.
const heldBy = ({used_bytes: used, snapshot_bytes: more}, withSnapshots) => used + (withSnapshots ? more ?? 0 : 0);

function Chart({points, limit, withSnapshots}) {
  if (points.length < 2) return html`<p class="none">${T.young}</p>`;
  const at = points.map((point) => parse(point.measured_at).getTime());
  const held = points.map((point) => heldBy(point, withSnapshots));
  const most = Math.max(limit, ...held, 1);
  const x = (moment) => (WIDE * (moment - at[0])) / (at.at(-1) - at[0] || 1);
  const y = (amount) => HIGH - (amount * HIGH) / most;
  const line = held.map((amount, index) => `${x(at[index]).toFixed(1)},${y(amount).toFixed(1)}`).join(' ');
  const [first, last] = [time(points[0].measured_at), time(points.at(-1).measured_at)];
  return html`<figure class="chart"><svg viewBox="0 0 ${WIDE} ${HIGH}" preserveAspectRatio="none" role="img"
      aria-label=${T.chart(bytes(held[0]), first, bytes(held.at(-1)), last)}>
      <polygon points=${`0,${HIGH} ${line} ${WIDE},${HIGH}`} /><polyline points=${line} />
      <line x1="0" x2=${WIDE} y1=${y(limit)} y2=${y(limit)} /></svg>
    <figcaption><span>${minute(points[0].measured_at)}</span><span>${T.top(bytes(most))}</span>
      <span>${minute(points.at(-1).measured_at)}</span></figcaption></figure>`;
}

const notYet = (error) => {
  if (error.status === 404) return null;
  throw error;
};

// The history of a share, a pool or a project; `limit`: the bytes at which it is full.
function History({path, ...more}) {
  const [resolution, choose] = useState('minutes');
  const found = useLoad(async () => (await get(`${path}/history`, {resolution}).catch(notYet))?.history ?? [], [path, resolution], () => false, OFTEN);
  return html`<form class="filters" onSubmit=${(event) => event.preventDefault()}><${Choice} label=${T.period} value=${resolution} onChange=${choose}
      options=${Object.entries(T.periods)} /></form>
    <${Loaded} from=${found}>${(points) => html`<${Chart} points=${points} ...${more} />`}<//>`;
}

const forecast = ({full_in_days: days}) => [T.forecast, days === null ? T.steady : T.days(days)];

function Figures({usage}) {
  return html`<${Facts} rows=${[
    [T.used, `${T.of(bytes(usage.used_bytes), bytes(usage.limit_bytes))} (${whole(usage.percent_full)})`],
    forecast(usage),
    [T.snapshots, usage.snapshot_bytes !== null && bytes(usage.snapshot_bytes)],
    [T.files, usage.files !== null && usage.files.toLocaleString('en')],
    [T.measured, html`<${Time} at=${usage.measured_at} />`],
  ]} />`;
}

export function UsageOfShare({id}) {
  const path = `share-usage/${quoted(id)}`;
  const found = useLoad(async () => ({usage: (await get(path).catch(notYet))?.share_usage}), [id], () => false, OFTEN);
  return html`<${Section} title=${T.title}><${Loaded} from=${found}>${({usage}) => (usage ? html`<${Figures} usage=${usage} />
    <${History} path=${path} limit=${usage.limit_bytes} />` : html`<p class="none">${T.none}</p>`)}<//><//>`;
}

const named = ({name, share_id: id}) => ({name, id});

// The shares that are nearly full; `query`: of whom.
export const loadFullest = async (query) => (await get('share-usage', query)).share_usage;
export const Fullest = ({rows}) => html`<ul class="lines">${rows.map((row) => html`<li key=${row.share_id}><a href=${link('share', row.share_id)}>
  <${Name} row=${named(row)} /></a> <${Use} id=${row.share_id} /></li>`)}</ul>`;

// What the shares of a pool hold together, its fullest ones, and a chart; `shown`: whether that is open at the beginning.
export function UsageOfPool({name, shown}) {
  const [isOpen, open] = useState(shown);
  const path = `pool-usage/${quoted(name)}`;
  const found = useLoad(async () => {
    const [sum, fullest] = await Promise.all([get(path).catch(notYet), loadFullest({host: name, all_tenants: 1, limit: 3})]);
    return {sum: sum?.pool_usage, fullest};
  }, [name], () => false, OFTEN);
  const {sum, fullest} = found.value ?? {};
  return sum && html`<p>${T.pool(sum.shares, bytes(sum.used_bytes), bytes(sum.limit_bytes))}</p>
    <${Fullest} rows=${fullest} /><${Facts} rows=${[forecast(sum)]} />
    <details open=${isOpen} onToggle=${({target}) => open(target.open)}><summary>${T.history}</summary>
      ${isOpen && html`<${History} path=${path} limit=${sum.capacity_bytes ?? sum.limit_bytes} withSnapshots />`}</details>`;
}

// What the shares of a project hold together, and a chart.
export function UsageOfProject({id}) {
  const found = useLoad(async () => (await get('project-usage', {project_id: id, all_tenants: 1})).project_usage, [id], () => false, OFTEN);
  const [sum] = found.value ?? [];
  return sum && html`<${Section} title=${T.title}><p>${T.project(sum.shares, bytes(sum.used_bytes), bytes(sum.limit_bytes))}</p>
    <${History} path=${`project-usage/${quoted(id)}`} limit=${sum.limit_bytes} /><//>`;
}
