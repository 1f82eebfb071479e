// SPDX-License-Identifier: Apache-2.0
// Another resource, by its name, with a link to where it is shown.
import {html, useEffect, useState} from '../html.js';
import {isKnown, nameOf} from '../known.js';
import {link} from '../router.js';
import {session} from '../session.js';
import {useStore} from '../store.js';
import {S} from '../strings.js';
import {Own} from './basics.js';

const PAGES = {share: (id) => link('share', id), snapshot: () => link('snapshots'), share_network: () => link('networks'),
  share_group: () => link('groups'), share_backup: () => link('backups'), share_server: () => link('servers'),
  share_replica: () => link('replicas'), service: () => link('services')};

// `typed`: say what it is before its name, where a list has several kinds.
export function Ref({type, id, typed = false}) {
  const [name, set] = useState(undefined);
  useEffect(() => {
    let wanted = id && isKnown(type);
    if (wanted) nameOf(type, id).then((found) => wanted && set(found));
    return () => { wanted = false; };
  }, [type, id]);
  if (!id) return S.none;
  const shown = name ? html`<${Own} text=${name} />` : html`<code>${String(id).slice(0, 8)}</code>`;
  const what = typed && `${type.replaceAll('_', ' ')} `;
  const to = name !== null && PAGES[type]?.(id);
  return html`<span title=${id}>${what}${to ? html`<a href=${to}>${shown}</a>` : shown}</span>`;
}

// A user or a project: the service has ids only, and the session knows its own names.
export function Who({user, project}) {
  const {user: me} = useStore(session);
  if (user) return html`<span title=${user}><${Own} text=${user === me.user_id ? me.user_name : user} /></span>`;
  if (project) return html`<span title=${project}><${Own} text=${project === me.project_id ? me.project_name : project} /></span>`;
  return S.none;
}
