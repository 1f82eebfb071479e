// SPDX-License-Identifier: Apache-2.0
// How to mount a share: the commands for the visitor's system, ready to copy.
import {html, useState} from '../html.js';
import {before, command, system, userOf} from '../mount.js';
import {Copied} from '../parts/basics.js';
import {Choice} from '../parts/form.js';
import {S} from '../strings.js';

const optionsOf = (place) => place.metadata?.mount_options ?? '';

export function Mount({share, places, rules}) {
  const [on, choose] = useState(system);
  const proto = share.share_proto.toUpperCase();
  const user = userOf(proto, rules);
  const sorted = [...places].sort((one, other) => Number(other.preferred) - Number(one.preferred));
  const commands = sorted.map((place) => command(proto, place.path, on, user, optionsOf(place))).filter(Boolean);
  if (places.length === 0) return html`<p class="none">${S.mount.none}</p>`;
  return html`<${Choice} label=${S.mount.system} value=${on} onChange=${choose} options=${Object.entries(S.mount.systems)} />
    <p class="hint">${S.mount.access}</p>
    ${commands.length > 0 ? before(proto, on, user).map((step) => html`<p key=${step.text}>${step.text}</p>
      ${step.command && html`<${Copied} text=${step.command} label=${step.text} />`}`) : html`<p>${S.mount.unknown}</p>`}
    ${commands.map((text) => html`<${Copied} key=${text} text=${text} label=${S.mount.command} />`)}
    <h3>${S.mount.path}</h3><ul class="paths">${sorted.map((place) => html`<li key=${place.id}><code dir="ltr">${place.path}</code>
      ${optionsOf(place) && html` <code dir="ltr">-o ${optionsOf(place)}</code>`}
      ${place.preferred && ` (${S.mount.preferred})`}</li>`)}</ul>`;
}
