// SPDX-License-Identifier: Apache-2.0
// The first page: for operators how the service is, for others what they have and what needs them.
import {html} from '../html.js';
import {get, list, unlessForbidden} from '../api.js';
import {BAD, sharesByStatus} from '../counts.js';
import {isEvent, isOf, useLoad} from '../load.js';
import {COLUMNS} from '../parts/activity.js';
import {Bar} from '../parts/bars.js';
import {Empty, Loaded, Name, Own, Section, Status, Time, Title} from '../parts/basics.js';
import {Progress, kindOf} from '../parts/operation.js';
import {Ref} from '../parts/ref.js';
import {Fullest, loadFullest} from '../parts/usage.js';
import {Table} from '../parts/table.js';
import {MessageList} from './messages.js';
import {Legend, amounts, told} from './pools.js';
import {QuotaBars} from './quotas.js';
import {link} from '../router.js';
import {mayOpen} from '../rules.js';
import {may, session} from '../session.js';
import {S} from '../strings.js';

const T = S.overview;
const FEW = 6;
const MANY = 500;
// Percent of a share from which it is nearly full.
const FULL = 80;
// Heartbeats and findings are no events; capacity changes without one.
const OFTEN = 10000;
const SELDOM = 20000;
const QUOTAS = ['shares', 'gigabytes', 'snapshots', 'snapshot_gigabytes', 'share_networks'];

const All = ({to, what}) => html`<a href=${link(to)}>${T.more(what)}</a>`;
const everywhere = () => session.set({everything: true});

const Figure = ({number, text, kind, to, onClick}) => html`<li class=${number > 0 ? kind : ''}>${to && number > 0
  ? html`<a href=${to} onClick=${onClick}><strong>${number.toLocaleString('en')}</strong> ${text}</a>`
  : html`<strong>${number.toLocaleString('en')}</strong> ${text}`}</li>`;

function Figures({counts, onClick}) {
  return html`<ul class="figures"><${Figure} number=${counts.all} text=${T.all} to=${link('shares')} onClick=${onClick} />
    <${Figure} number=${counts.available} text=${T.good} kind="good" to=${link('shares', 'available')} onClick=${onClick} />
    <${Figure} number=${counts.busy} text=${T.busy} kind="busy" />
    ${BAD.filter((status) => counts.bad[status] > 0).map((status) => html`<${Figure} key=${status} number=${counts.bad[status]}
      text=${T.bad[status]} kind="bad" to=${link('shares', status)} onClick=${onClick} />`)}</ul>`;
}

function Capacity() {
  const found = useLoad(async () => (await get('scheduler-stats/pools/detail')).pools, [], isEvent('pool'), OFTEN);
  return html`<${Section} title=${T.capacity} actions=${html`<${All} to="pools" what=${S.pools.title} />`}>
    <${Loaded} from=${found}>${(pools) => (pools.length === 0 ? html`<${Empty} text=${S.pools.none} next=${T.noPools} />`
    : html`<${Legend} /><ul class="quotas">${pools.map(({name, capabilities}) => {
      const {total, free, promised, used, reserved} = amounts(capabilities);
      const text = told(capabilities);
      return html`<li key=${name}><${Own} text=${name} />${used === null ? html`<span></span>` : html`<${Bar} label=${S.pools.bar(name, text)}
        most=${total} mark=${promised} parts=${[['used', used], ['free', free - reserved], ['reserved', reserved]]} />`}<span>${text}</span></li>`;
    })}</ul>`)}<//><//>`;
}

const SERVICES = [
  {key: 'binary', head: S.services.service, cell: (row) => row.binary},
  {key: 'host', head: S.table.host, cell: (row) => html`<${Own} text=${row.host} />`},
  {key: 'state', head: S.table.state, cell: (row) => html`<${Status} of=${row.state} />
    ${row.status === 'disabled' && html` <${Status} of=${row.status} />`}`},
  {key: 'seen', head: S.services.heartbeat, cell: (row) => html`<${Time} at=${row.updated_at} />`},
];

function Services() {
  const found = useLoad(async () => (await get('services')).services, [], isEvent('service'), OFTEN);
  return html`<${Section} title=${T.services} actions=${html`<${All} to="services" what=${S.services.title} />`}>
    <${Loaded} from=${found}>${(rows) => html`<${Table} caption=${T.services} columns=${SERVICES} rows=${rows} none=${S.services.none} />`}<//><//>`;
}

function Findings() {
  const found = useLoad(async () => (await get('findings', {wrong: true, limit: FEW})).findings, [], isEvent('operation'), SELDOM);
  return html`<${Section} title=${T.findings} actions=${html`<${All} to="findings" what=${S.findings.title} />`}>
    <${Loaded} from=${found}>${(rows) => (rows.length === 0 ? html`<p class="none">${S.findings.noneWrong}</p>`
    : html`<ul class="lines">${rows.map((row) => html`<li key=${`${row.what} ${row.id} ${row.state}`}><${Status} of=${row.state} /> ${row.what}${' '}
      <${Ref} type=${row.what.replaceAll(' ', '_')} id=${row.id} />: <${Own} text=${row.why} /></li>`)}</ul>`)}<//><//>`;
}

const operations = async (query) => (await get('operations', {limit: FEW, ...query})).operations;

function Work({scope}) {
  const found = useLoad(async () => {
    const [open, parked, last] = await Promise.all([{state: 'open'}, {state: 'parked', limit: MANY}, {}].map((query) => operations({...scope, ...query})));
    return {open, parked, last};
  }, [], isEvent('operation'), OFTEN);
  return html`<${Loaded} from=${found}>${({open, parked, last}) => html`
    <${Section} title=${T.running} actions=${html`<${All} to="operations" what=${S.operation.title} />`}>
      ${parked.length > 0 && html`<p class="away">${T.parked(parked.length)} <a href=${link('operations', 'parked')}>${S.operation.states.parked}</a></p>`}
      ${open.length === 0 ? html`<p class="none">${T.idle}</p>` : html`<ul class="lines">${open.map((row) => html`<li key=${row.id}>
        ${kindOf(row)} <${Ref} type=${row.resource_type} id=${row.resource_id} /><${Progress} operation=${row} /></li>`)}</ul>`}<//>
    <${Section} title=${T.activity}><${Table} caption=${T.activity} columns=${COLUMNS} rows=${last} none=${T.noActivity} /><//>`}<//>`;
}

function Shares({scope, onClick}) {
  const found = useLoad(() => sharesByStatus(scope), [], isOf('share'));
  return html`<${Section} title=${T.shares}><${Loaded} from=${found}>${(counts) => html`<${Figures} ...${{counts, onClick}} />
    ${counts.all === 0 && may('share:create') && html`<${Empty} text=${S.shares.none} next=${S.shares.first}><a class="button main"
      href=${link('create-share')}>${S.shares.create}</a><//>`}`}<//><//>`;
}

function Attention() {
  const found = useLoad(async () => (await Promise.all(BAD.map((status) => get('shares/detail', {status, limit: FEW}))))
    .flatMap(({shares}) => shares), [], isOf('share'));
  const full = useLoad(() => (may('share_usage:index') ? loadFullest({min_percent: FULL, limit: FEW}) : []), [], () => false, SELDOM);
  const messages = useLoad(() => unlessForbidden(list('messages', 'messages'), []), [], isEvent('status', 'operation'));
  return html`<${Section} title=${T.attention}><${Loaded} from=${found}>${(shares) => html`
    ${shares.length === 0 && messages.value?.length === 0 && !full.value?.length && html`<p class="none">${T.calm}</p>`}
    ${shares.length > 0 && html`<ul class="lines">${shares.map((row) => html`<li key=${row.id}><${Status} of=${row.status} />${' '}
      <a href=${link('share', row.id)}><${Name} row=${row} /></a></li>`)}</ul>`}`}<//>
    ${full.value?.length > 0 && html`<h3>${T.full}</h3><${Fullest} rows=${full.value} />`}
    ${messages.value?.length > 0 && html`<h3>${S.messages.title}</h3><${MessageList} />`}<//>`;
}

export function Overview() {
  const {user} = session.value;
  const operator = user.administrator;
  return html`<${Title}>${T.title}<//>
    ${mayOpen('shares') && html`<${Shares} ...${operator ? {scope: {all_tenants: 1}, onClick: everywhere} : {scope: {}}} />`}
    ${mayOpen('shares') && !operator && html`<${Attention} />`}
    ${mayOpen('quotas') && !operator && html`<${Section} title=${T.quota} actions=${html`<${All} to="quotas" what=${S.quotas.title} />`}>
      <${QuotaBars} only=${QUOTAS} /><//>`}
    ${mayOpen('pools') && html`<${Capacity} />`}${mayOpen('services') && html`<${Services} />`}${mayOpen('findings') && html`<${Findings} />`}
    ${mayOpen('operations') && html`<${Work} scope=${operator ? {all_tenants: 1} : {}} />`}`;
}
