// SPDX-License-Identifier: Apache-2.0
// How full shares are: a bar in lists, and a chart of how that came.
import {html, useState} from '../html.js';
import {get, id as quoted} from '../api.js';
import {bytes, parse, time} from '../format.js';
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

function Chart({points, limit}) {
  if (points.length < 2) return html`<p class="none">${T.young}</p>`;
  const at = points.map((point) => parse(point.measured_at).getTime());
  const most = Math.max(limit, ...points.map((point) => point.used_bytes), 1);
  const x = (moment) => (WIDE * (moment - at[0])) / (at.at(-1) - at[0] || 1);
  const y = (amount) => HIGH - (amount * HIGH) / most;
  const line = points.map((point, index) => `${x(at[index]).toFixed(1)},${y(point.used_bytes).toFixed(1)}`).join(' ');
  const [first, last] = [points[0], points.at(-1)];
  const label = T.chart(bytes(first.used_bytes), time(first.measured_at), bytes(last.used_bytes), time(last.measured_at));
  return html`<figure class="chart"><svg viewBox="0 0 ${WIDE} ${HIGH}" preserveAspectRatio="none" role="img" aria-label=${label}>
      <polygon points=${`0,${HIGH} ${line} ${WIDE},${HIGH}`} /><polyline points=${line} />
      <line x1="0" x2=${WIDE} y1=${y(limit)} y2=${y(limit)} /></svg>
    <figcaption><span>${time(first.measured_at)}</span><span>${T.top(bytes(most))}</span><span>${time(last.measured_at)}</span></figcaption></figure>`;
}

const notYet = (error) => {
  if (error.status === 404) return null;
  throw error;
};

async function load(id, resolution) {
  const path = `share-usage/${quoted(id)}`;
  const [one, history] = await Promise.all([get(path).catch(notYet), get(`${path}/history`, {resolution}).catch(notYet)]);
  return {usage: one?.share_usage, points: history?.history ?? []};
}

function Figures({usage}) {
  const days = usage.full_in_days;
  return html`<${Facts} rows=${[
    [T.used, `${T.of(bytes(usage.used_bytes), bytes(usage.limit_bytes))} (${whole(usage.percent_full)})`],
    [T.forecast, days === null ? T.steady : T.days(days)],
    [T.snapshots, usage.snapshot_bytes !== null && bytes(usage.snapshot_bytes)],
    [T.files, usage.files !== null && usage.files.toLocaleString('en')],
    [T.measured, html`<${Time} at=${usage.measured_at} />`],
  ]} />`;
}

export function UsageOfShare({id}) {
  const [resolution, choose] = useState('minutes');
  const found = useLoad(() => load(id, resolution), [id, resolution], () => false, OFTEN);
  return html`<${Section} title=${T.title}><${Loaded} from=${found}>${({usage, points}) => (usage ? html`<${Figures} usage=${usage} />
    <form class="filters" onSubmit=${(event) => event.preventDefault()}><${Choice} label=${T.period} value=${resolution} onChange=${choose}
      options=${Object.entries(T.periods)} /></form><${Chart} points=${points} limit=${usage.limit_bytes} />`
    : html`<p class="none">${T.none}</p>`)}<//><//>`;
}

const named = ({name, share_id: id}) => ({name, id});

// The shares that are nearly full; `query`: of whom.
export const loadFullest = async (query) => (await get('share-usage', query)).share_usage;
export const Fullest = ({rows}) => html`<ul class="lines">${rows.map((row) => html`<li key=${row.share_id}><a href=${link('share', row.share_id)}>
  <${Name} row=${named(row)} /></a> <${Use} id=${row.share_id} /></li>`)}</ul>`;

// What the shares of a pool hold together, and its fullest ones.
export function UsageOfPool({name}) {
  const found = useLoad(async () => {
    const [{pool_usage: pools}, fullest] = await Promise.all([get('pool-usage', {limit: 1000}), loadFullest({host: name, all_tenants: 1, limit: 3})]);
    return {sum: pools.find(({host}) => host === name), fullest};
  }, [name], () => false, OFTEN);
  return found.value?.sum && html`<p>${T.pool(found.value.sum.shares, bytes(found.value.sum.used_bytes), bytes(found.value.sum.limit_bytes))}</p>
    <${Fullest} rows=${found.value.fullest} />`;
}
