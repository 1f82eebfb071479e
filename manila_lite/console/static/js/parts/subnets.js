// SPDX-License-Identifier: Apache-2.0
// The subnets of a share network, drawn as lines of a bus. Beside the picture there is a table for those who do not see it.
import {html} from '../html.js';
import {S} from '../strings.js';
import {Picture} from './basics.js';

const [WIDE, STEP, TOP] = [560, 46, 10];

export const places = (subnet) => subnet.cidr || subnet.neutron_subnet_id || S.networks.unknown;

function Line({subnet, index}) {
  const y = TOP + index * STEP + STEP / 2;
  const kind = subnet.ip_version === 6 ? 'six' : 'four';
  return html`<g class=${kind}><line x1="120" y1=${y} x2="150" y2=${y} class="wire" />
    <rect x="150" y=${y - 16} width="400" height="32" rx="6" class="net" />
    <text x="162" y=${y + 5} class="cidr">${places(subnet)}</text>
    <text x="540" y=${y + 5} text-anchor="end">${[subnet.ip_version && S.networks.version(subnet.ip_version),
      subnet.availability_zone].filter(Boolean).join(' · ')}</text></g>`;
}

export function Subnets({name, subnets}) {
  const high = TOP * 2 + Math.max(subnets.length, 1) * STEP;
  const middle = (index) => TOP + index * STEP + STEP / 2;
  const label = S.networks.picture(name, subnets.map(places).join(', ') || S.networks.noSubnets);
  return html`<${Picture} label=${label}><svg class="subnets" viewBox="0 0 ${WIDE} ${high}" role="img" aria-label=${label}>
    <rect x="4" y=${high / 2 - 18} width="96" height="36" rx="8" class="center" />
    <text x="52" y=${high / 2 + 5} text-anchor="middle">${name.length > 11 ? `${[...name].slice(0, 10).join('')}…` : name}</text>
    ${subnets.length > 0 && html`<line x1="100" y1=${high / 2} x2="120" y2=${high / 2} class="wire" />
      <line x1="120" y1=${middle(0)} x2="120" y2=${middle(subnets.length - 1)} class="wire" />`}
    ${subnets.map((subnet, index) => html`<${Line} key=${subnet.id} ...${{subnet, index}} />`)}</svg><//>`;
}
