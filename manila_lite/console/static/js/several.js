// SPDX-License-Identifier: Apache-2.0
// The same for several resources: one that is refused keeps no other back.
import {own} from './names.js';
import {S} from './strings.js';

// `done`: a set of the ids that need no more; tried again, only the others are asked for.
export async function runAll(rows, done, act) {
  const failed = [];
  for (const row of rows.filter(({id}) => !done.has(id))) {
    await act(row).then(() => done.add(row.id), (error) => failed.push([row, error]));
  }
  if (failed.length === 1 && rows.length === 1) throw failed[0][1];
  if (failed.length > 0) {
    throw Object.assign(new Error(S.bulk.failed(failed.length, rows.length)), {
      next: failed.map(([row, error]) => `${own(row.name || row.id)}: ${error.message}`).join(' ')});
  }
}
