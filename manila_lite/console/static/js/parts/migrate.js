// SPDX-License-Identifier: Apache-2.0
// Dialogs that start the migration of a share or a share server.
import {html} from '../html.js';
import {act, get, id as quoted} from '../api.js';
import {useLoad} from '../load.js';
import {go} from '../router.js';
import {S} from '../strings.js';
import {Loaded, named} from './basics.js';
import {FormDialog} from './dialog.js';
import {Check, Choice, useFields} from './form.js';

const T = S.migrations;

// places: names of where it can go. start(host, options) sends the request. hostsCopy: whether a host may do it in place of a driver.
function Migrate({name, places, start, onClose, hostsCopy = false}) {
  const found = useLoad(places, []);
  const {values, field} = useFields({host: '', writable: false, nondisruptive: false, preserve_snapshots: true, byHost: false});
  const submit = async () => {
    const {host, byHost, ...options} = values;
    await start(host || found.value[0], {...options, preserve_metadata: !byHost});
    go('migrations');
  };
  return html`<${FormDialog} title=${T.startTitle(name)} submit=${T.start} onSubmit=${submit} onClose=${onClose}>
    <${Loaded} from=${found}>${(all) => (all.length === 0 ? html`<p class="none">${T.noTargets}</p>` : html`
      <${Choice} label=${T.target} ...${field('host')} value=${values.host || all[0]} options=${all.map((place) => [place, place])} />
      <${Check} label=${T.writable} ...${field('writable')} /><${Check} label=${T.nondisruptive} ...${field('nondisruptive')} />
      <${Check} label=${T.snapshots} ...${field('preserve_snapshots')} />
      ${hostsCopy && html`<${Check} label=${T.byHost} ...${field('byHost')} />`}`)}<//><//>`;
}

const pools = async () => (await get('scheduler-stats/pools')).pools.map(({name}) => name);
const backendOf = (host) => host.split('#')[0];

export function MigrateShare({share, onClose}) {
  const places = async () => (await pools()).filter((name) => name !== share.host);
  const start = (host, options) => act(`shares/${quoted(share.id)}`, 'migration_start', {host, ...options});
  return html`<${Migrate} name=${named(share)} ...${{places, start, onClose}} hostsCopy />`;
}

export function MigrateServer({server, onClose}) {
  const places = async () => [...new Set((await pools()).map(backendOf))].filter((name) => name !== backendOf(server.host));
  const start = (host, options) => act(`share-servers/${quoted(server.id)}`, 'migration_start', {host, ...options});
  return html`<${Migrate} name=${server.id.slice(0, 8)} ...${{places, start, onClose}} />`;
}
