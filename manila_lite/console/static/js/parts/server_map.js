// SPDX-License-Identifier: Apache-2.0
// Share servers drawn between the networks they are in and the hosts they are on. A table beside it says the same.
import {html} from '../html.js';
import {S} from '../strings.js';
import {Picture} from './basics.js';
import {places} from './subnets.js';

const [WIDE, LEFT, RIGHT, ROW, GAP] = [860, 330, 430, 28, 16];
const short = (text, most) => ([...text].length > most ? `${[...text].slice(0, most - 1).join('')}…` : text);

// Boxes one under the other: each has a title, and lines that can be joined to others by key.
function stack(boxes) {
  let top = 4;
  return boxes.map((box) => {
    const high = ROW * (box.lines.length + 1);
    const placed = {...box, top, high, lines: box.lines.map((line, index) => ({...line, y: top + ROW * (index + 1.5)}))};
    top += high + GAP;
    return placed;
  });
}

function Box({box, x, width}) {
  return html`<g class="box"><rect x=${x} y=${box.top} width=${width} height=${box.high} rx="8" />
    <text x=${x + 10} y=${box.top + 19} class="head">${short(box.title, 44)}</text>
    ${box.lines.map((line) => html`<text key=${line.key} x=${x + 10} y=${line.y + 5} class=${line.class}>${short(line.text, 48)}</text>`)}</g>`;
}

export function networkBoxes(networks) {
  return networks.map(({id, name, share_network_subnets: subnets}) => ({id, title: name || id, lines: (subnets ?? []).map((subnet) => ({
    key: subnet.id, text: places(subnet), class: subnet.ip_version === 6 ? 'six' : 'four'}))}));
}

export function hostBoxes(servers) {
  const hosts = new Map();
  for (const server of servers) hosts.set(server.host, [...(hosts.get(server.host) ?? []), server]);
  return [...hosts].sort(([one], [other]) => (one < other ? -1 : 1)).map(([host, here]) => ({id: host, title: host, lines: here.map(
    (server) => ({key: server.id, text: `${server.id.slice(0, 8)} · ${server.status}`, class: server.status, server}))}));
}

export function ServerMap({servers, networks}) {
  const used = new Set(servers.map((server) => server.share_network_id));
  const left = stack(networkBoxes(networks.filter(({id}) => used.has(id))));
  const right = stack(hostBoxes(servers));
  const subnets = new Map(left.flatMap((box) => box.lines.map((line) => [line.key, line])));
  const wires = right.flatMap((box) => box.lines.flatMap(({key, y, server}) => (server.share_network_subnet_ids ?? [])
    .filter((id) => subnets.has(id)).map((id) => ({key: `${key} ${id}`, from: subnets.get(id), y}))));
  const high = Math.max(...[...left, ...right].map((box) => box.top + box.high), 0) + 8;
  const label = S.servers.picture(servers.length, right.length);
  return html`<${Picture} label=${S.servers.map}><svg class="map" viewBox="0 0 ${WIDE} ${high}" role="img" aria-label=${label}>
    ${wires.map(({key, from, y}) => html`<path key=${key} class="wire ${from.class}"
      d="M${LEFT} ${from.y} C${LEFT + 50} ${from.y} ${RIGHT - 50} ${y} ${RIGHT} ${y}" />`)}
    ${left.map((box) => html`<${Box} key=${box.id} box=${box} x=${4} width=${LEFT - 4} />`)}
    ${right.map((box) => html`<${Box} key=${box.id} box=${box} x=${RIGHT} width=${WIDE - RIGHT - 4} />`)}</svg><//>`;
}
