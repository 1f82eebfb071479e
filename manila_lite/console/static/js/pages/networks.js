// SPDX-License-Identifier: Apache-2.0
// Share networks, with their subnets drawn.
import {html} from '../html.js';
import {allProjects, create, id as quoted, list} from '../api.js';
import {isOf, useLoad} from '../load.js';
import {Empty, Loaded, Name, Own, Problem, Status, Title, button, named} from '../parts/basics.js';
import {FormDialog, useConfirm, useOpened} from '../parts/dialog.js';
import {Area, Text, useFields} from '../parts/form.js';
import {Subnets, places} from '../parts/subnets.js';
import {actions} from '../parts/columns.js';
import {Table} from '../parts/table.js';
import {may} from '../session.js';
import {S} from '../strings.js';

const T = S.networks;
const PLACE = {neutron_net_id: '', neutron_subnet_id: '', availability_zone: ''};
const filled = (values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''));

function Place({field}) {
  return html`<${Text} label=${T.net} hint=${T.netHint} ...${field('neutron_net_id')} maxlength="36" />
    <${Text} label=${T.subnet} ...${field('neutron_subnet_id')} maxlength="36" />
    <${Text} label=${T.zone} ...${field('availability_zone')} maxlength="255" />`;
}

function Create({onClose}) {
  const {values, field} = useFields({name: '', description: '', ...PLACE});
  const submit = () => create('share-networks', {share_network: filled(values)});
  return html`<${FormDialog} title=${T.create} submit=${S.action.create} onSubmit=${submit} onClose=${onClose}>
    <${Text} label=${S.table.name} ...${field('name')} maxlength="255" autofocus />
    <${Area} label=${S.table.description} ...${field('description')} maxlength="255" /><${Place} field=${field} /><//>`;
}

function AddSubnet({network, onClose}) {
  const {values, field} = useFields(PLACE);
  const submit = () => create(`share-networks/${quoted(network.id)}/subnets`, {'share-network-subnet': filled(values)});
  return html`<${FormDialog} title=${S.action.ofThis(T.addSubnet, named(network))} submit=${S.action.add} onSubmit=${submit} onClose=${onClose}>
    <${Place} field=${field} /><//>`;
}

function Network({network, erase, add}) {
  const subnets = network.share_network_subnets ?? [];
  const name = named(network);
  const path = `share-networks/${quoted(network.id)}`;
  const eraseSubnet = (subnet) => erase(`${path}/subnets/${quoted(subnet.id)}`, T.subnetWhat, places(subnet));
  const columns = [
    {key: 'cidr', head: T.cidr, cell: (row) => html`<${Own} text=${places(row)} />`},
    {key: 'gateway', head: T.gateway, class: 'wide', cell: (row) => row.gateway ?? S.none},
    {key: 'kind', head: T.kind, class: 'wide', cell: (row) => row.network_type ?? S.none},
    {key: 'segment', head: T.segment, class: 'wide', cell: (row) => row.segmentation_id ?? S.none},
    {key: 'zone', head: S.table.zone, cell: (row) => row.availability_zone ?? T.default},
    actions((row) => may('share_network_subnet:delete') && button(S.action.delete, row, eraseSubnet, `${places(row)} ${name}`)),
  ];
  return html`<section class="card"><div class="title"><h2><${Name} row=${network} /> <${Status} of=${network.status} /></h2>
      <div class="actions">
      ${may('share_network_subnet:create') && button(T.addSubnet, network, add)}
      ${may('share_network:delete') && html`<button type="button" class="danger" onClick=${() => erase(path, T.what, name)}
        aria-label=${S.action.ofThis(S.action.delete, name)}>${S.action.delete}</button>`}</div></div>
    ${network.description && html`<p><${Own} text=${network.description} /></p>`}
    <${Subnets} name=${name} subnets=${subnets} />
    ${subnets.filter(({error}) => error).map(({id, error}) => html`<${Problem} key=${id} error=${{message: error}} />`)}
    <${Table} caption=${S.action.ofThis(T.subnets, name)} columns=${columns} rows=${subnets} none=${T.noSubnets} /></section>`;
}

export function Networks() {
  const found = useLoad(() => list('share-networks/detail', 'share_networks', allProjects()), [], isOf('share_network'));
  const [dialog, open, close] = useOpened(found.reload);
  const [, confirm, erase] = useConfirm(found.reload);
  const start = (kind) => may('share_network:create') && html`<button type="button" class=${kind} onClick=${() => open({})}>${T.create}</button>`;
  return html`<${Title} actions=${start('main')}>${T.title}<//>
    <${Loaded} from=${found}>${(rows) => (rows.length === 0 ? html`<${Empty} text=${T.none} next=${T.first}>${start('')}<//>`
      : rows.map((network) => html`<${Network} key=${network.id} ...${{network, erase}}
        add=${(one) => open({network: one})} />`))}<//>
    ${dialog && (dialog.network ? html`<${AddSubnet} network=${dialog.network} onClose=${close} />`
      : html`<${Create} onClose=${close} />`)}${confirm}`;
}
