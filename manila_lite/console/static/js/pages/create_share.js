// SPDX-License-Identifier: Apache-2.0
// The form for a new share, empty or from a snapshot. It offers only what types, networks and quotas allow.
import {html} from '../html.js';
import {create, get, id as quoted, list, unlessForbidden} from '../api.js';
import {gib} from '../format.js';
import {useLoad} from '../load.js';
import * as offers from '../offers.js';
import {Empty, Loaded, Name, Title, named} from '../parts/basics.js';
import {Area, Check, Choice, Form, Text, Whole, useFields} from '../parts/form.js';
import {go, link} from '../router.js';
import {may} from '../session.js';
import {S} from '../strings.js';

const T = S.create;

async function load(snapshotId) {
  const [{share_types: types}, networks, {availability_zones: zones}, {limits}, snapshot] = await Promise.all([
    get('types'), unlessForbidden(list('share-networks/detail', 'share_networks'), []),
    unlessForbidden(get('availability-zones'), {availability_zones: []}),
    unlessForbidden(get('limits'), {limits: {absolute: {maxTotalShareGigabytes: -1}}}),
    snapshotId ? get(`snapshots/${quoted(snapshotId)}`) : null]);
  const source = snapshot && (await get(`shares/${quoted(snapshot.snapshot.share_id)}`)).share;
  return {types, networks, zones: zones.map(({name}) => name), limits: limits.absolute, snapshot: snapshot?.snapshot ?? null, source};
}

const typeName = (type) => (type.is_default ? T.default(type.name) : type.name);

// Values that the chosen type does not allow give way to the first that it does.
function fitting(values, {types, networks, zones, limits, snapshot, source}) {
  const type = types.find(({id}) => id === values.share_type);
  const protocols = source ? [source.share_proto] : offers.protocols(type);
  const inZones = offers.zones(type, zones);
  return {
    type, protocols, inZones, sizes: offers.sizes(type, limits, snapshot),
    share_proto: protocols.includes(values.share_proto) ? values.share_proto : protocols[0],
    share_network_id: offers.hasServers(type)
      ? networks.find(({id}) => id === values.share_network_id)?.id ?? networks[0]?.id ?? null : null,
    availability_zone: inZones.includes(values.availability_zone) ? values.availability_zone : null};
}

function body(values, fits, {snapshot}) {
  const share = {
    name: values.name, description: values.description, size: Number(values.size), share_type: values.share_type,
    share_proto: fits.share_proto, is_public: values.is_public, snapshot_id: snapshot?.id,
    share_network_id: fits.share_network_id ?? undefined, availability_zone: fits.availability_zone ?? undefined,
    mount_point_name: offers.namesMounts(fits.type) && values.mount_point_name ? values.mount_point_name : undefined};
  return {share};
}

function Fields({data}) {
  const {types, networks, snapshot, source} = data;
  const first = types.find(({id}) => id === source?.share_type) ?? types.find((type) => type.is_default) ?? types[0];
  const {values, field} = useFields({
    name: '', description: '', share_type: first.id, share_proto: source?.share_proto ?? '', mount_point_name: '',
    size: String(snapshot?.share_size ?? 1), is_public: false, share_network_id: source?.share_network_id ?? '', availability_zone: ''});
  const fits = fitting(values, data);
  const submit = async () => {
    const {share} = await create('shares', body(values, fits, data));
    go('share', share.id);
  };
  const withServers = offers.hasServers(fits.type);
  return html`<${Form} submit=${T.submit} onSubmit=${submit} onCancel=${() => go('shares')}>
    ${snapshot && html`<p>${T.snapshot}: <${Name} row=${snapshot} /></p>`}
    <${Text} label=${T.name} ...${field('name')} maxlength="255" />
    <${Area} label=${T.description} ...${field('description')} maxlength="255" />
    <${Choice} label=${T.type} hint=${T.typeHas(offers.abilities(fits.type).join(', '))} ...${field('share_type')}
      options=${(source ? types.filter(({id}) => id === source.share_type) : types).map((type) => [type.id, typeName(type)])} />
    <${Choice} label=${T.protocol} ...${field('share_proto')} value=${fits.share_proto}
      options=${fits.protocols.map((name) => [name, name])} />
    <${Whole} label=${T.size} ...${field('size')} required min=${fits.sizes.least} max=${fits.sizes.most ?? undefined}
      hint=${[T.sizeHint(fits.sizes.least, fits.sizes.most), fits.sizes.left !== null && T.left(gib(fits.sizes.left))]
        .filter(Boolean).join(' ')} />
    ${withServers && (networks.length > 0 ? html`<${Choice} label=${T.network} ...${field('share_network_id')}
        value=${fits.share_network_id} options=${networks.map((network) => [network.id, named(network)])} />`
      : html`<p class="problem">${T.noNetworks} <a href=${link('networks')}>${T.createNetwork}</a></p>`)}
    <${Choice} label=${T.zone} ...${field('availability_zone')} value=${fits.availability_zone ?? ''}
      options=${[['', T.anyZone], ...fits.inZones.map((name) => [name, name])]} />
    ${offers.namesMounts(fits.type) && html`<${Text} label=${T.mountPoint} ...${field('mount_point_name')} maxlength="255"
      pattern="[A-Za-z0-9_\\-]*" />`}
    ${may('share:create_public_share') && html`<${Check} label=${T.public} ...${field('is_public')} />`}<//>`;
}

export function CreateShare({id}) {
  const found = useLoad(() => load(id), [id]);
  return html`<${Title}>${T.title}<//><${Loaded} from=${found}>${(data) => (data.types.length > 0
    ? html`<${Fields} data=${data} />` : may('share_type:create')
    ? html`<${Empty} text=${S.types.none} next=${S.types.first}><a class="button main" href=${link('types')}>${S.types.title}</a><//>`
    : html`<${Empty} text=${T.noTypes} next=${T.askOperator} />`)}<//>`;
}
