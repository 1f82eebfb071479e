// SPDX-License-Identifier: Apache-2.0
// Pools: what is used, what was promised, what is free.
import {html} from '../html.js';
import {get} from '../api.js';
import {gib} from '../format.js';
import {isEvent, useLoad} from '../load.js';
import {Empty, Facts, Loaded, Own, Time, Title} from '../parts/basics.js';
import {Bar} from '../parts/bars.js';
import {UsageOfPool} from '../parts/usage.js';
import {may} from '../session.js';
import {S} from '../strings.js';

const T = S.pools;
// What is promised changes without a report of the pool.
const OFTEN = 10000;
// So many charts of use are drawn at once.
const FEW = 4;
const size = (amount) => (typeof amount === 'number' ? gib(amount) : T[amount] ?? amount);

// The amounts of a pool in GiB; null where the backend reports none.
export function amounts(about) {
  const {total_capacity_gb: total, free_capacity_gb: free, provisioned_capacity_gb: promised} = about;
  const isKnown = typeof total === 'number' && typeof free === 'number';
  const reserved = isKnown ? (total * about.reserved_percentage) / 100 : null;
  return {total, free, promised, used: isKnown ? Math.max(0, total - free) : null, reserved: isKnown ? Math.min(reserved, free) : null,
    ratio: isKnown && total > 0 ? (promised / total).toFixed(2) : null};
}

// The amounts in words.
export function told(about) {
  const {total, free, promised, used} = amounts(about);
  return used === null ? T.toldOnly(size(promised), size(free)) : T.told(size(used), size(total), size(promised));
}

export const Legend = () => html`<ul class="legend" aria-hidden="true">${['used', 'free', 'reserved', 'promised'].map((name) => html`
  <li key=${name} class=${name}>${T[name]}</li>`)}</ul><p class="hint">${T.explained}</p>`;

const ABILITIES = ['snapshot_support', 'create_share_from_snapshot_support', 'revert_to_snapshot_support', 'mount_snapshot_support'];

function Pool({pool, few}) {
  const about = pool.capabilities;
  const {total, free, promised, used, reserved, ratio} = amounts(about);
  const text = told(about);
  const has = ABILITIES.filter((name) => about[name] === true).map((name) => S.create.ability[name]);
  return html`<li class="card"><h2><${Own} text=${pool.name} /></h2>
    ${used !== null && html`<${Bar} label=${T.bar(pool.name, text)} most=${total} mark=${promised}
      parts=${[['used', used], ['free', free - reserved], ['reserved', reserved]]} />`}
    <p>${text}</p>
    <p>${ratio !== null && about.thin_provisioning ? T.ratio(ratio, about.max_over_subscription_ratio) : T.thick}</p>
    ${may('share_usage:pools') && html`<${UsageOfPool} name=${pool.name} shown=${few} />`}
    <${Facts} rows=${[[T.abilities, has.join(', ')], [T.reported, html`<${Time} at=${about.timestamp} />`]]} /></li>`;
}

export function Pools() {
  const found = useLoad(async () => (await get('scheduler-stats/pools/detail')).pools, [], isEvent('pool'), OFTEN);
  return html`<${Title}>${T.title}<//>
    <${Legend} /><${Loaded} from=${found}>${(pools) => (pools.length === 0 ? html`<${Empty} text=${T.none} next=${S.overview.noPools} />`
      : html`<ul class="pools">${pools.map((pool) => html`<${Pool} key=${pool.name} pool=${pool} few=${pools.length <= FEW} />`)}</ul>`)}<//>`;
}
