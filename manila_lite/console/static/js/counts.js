// SPDX-License-Identifier: Apache-2.0
// Numbers of shares, counted by the service.
import {get} from './api.js';

export const BAD = ['error', 'error_deleting', 'extending_error', 'shrinking_error', 'reverting_error'];

export const countShares = async (query) => (await get('shares', {...query, limit: 1, with_count: 1})).count;

// {all, available, busy, bad: {status: number}}; `scope`: whose shares.
export async function sharesByStatus(scope) {
  const [all, available, ...bad] = await Promise.all(
    [undefined, 'available', ...BAD].map((status) => countShares({...scope, status})));
  const busy = Math.max(0, all - available - bad.reduce((sum, count) => sum + count, 0));
  return {all, available, busy, bad: Object.fromEntries(BAD.map((status, index) => [status, bad[index]]))};
}
