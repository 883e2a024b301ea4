import * as z from 'zod';
import { type Check, readList, refuseRepeated } from '../../document/check.ts';
import { readMatchers } from '../../document/read-matchers.ts';
import { duration, matcherList, words } from '../../document/value-shape.ts';
import type { ActionRule } from '../../domain/action/action.ts';
import type { RegionConfig } from './regions-section.ts';

const DAY_MS = 86_400_000;

export const actionShape = z.strictObject({
  name: words.describe('Who acts, in messages and on pages.'),
  on: z.enum(['FlightFailed']).describe('The kind of alerts that it acts on.'),
  match: matcherList.prefault([]).describe('Matchers on the labels of the alert, all of which must match.'),
  do: z
    .enum(['fly_again'], { error: 'must be one of those known: fly_again' })
    .describe('`fly_again`: starts a new Flight of the Bird, from its beginning.'),
  wait: duration(0, DAY_MS).prefault('5m').describe('How long after the failure it decides and acts.'),
  at_most: z.int().min(1).max(5).prefault(2).describe('How often for one episode of the alert, at most.'),
  per_hour: z
    .int()
    .min(1)
    .max(1_000)
    .describe('How often within an hour in each region, at most, over all Birds.'),
  hold_notification: duration(0, DAY_MS)
    .prefault('0s')
    .describe(
      'The first message about the alert waits for the outcome, at most this long; nobody is told of what is over by then.',
    ),
  approval: z
    .enum(['none', 'one', 'two'])
    .prefault('none')
    .describe(
      'How many people must approve each start, within 4 hours; then the limits are checked again. `two` asks for two who log in by their own names, so it needs `web.auth.users`, `proxy` or `oidc`.',
    ),
  dry_run: z.boolean().prefault(true).describe('Only says what it would have done.'),
});

const APPROVALS = { none: 0, one: 1, two: 2 } as const;

export function readActions(check: Check, regions: readonly RegionConfig[]): ActionRule[] {
  const paths = readList(check, ['actions']);
  refuseRepeated(check, paths, 'action');
  return paths.flatMap((path): ActionRule[] => {
    const match = readMatchers(check, [...path, 'match']);
    const action = check.read(actionShape, path);
    const meant = regions.filter(({ name }) =>
      match.every((one) => one.name !== 'region' || one.matches({ region: name })),
    );
    for (const { name } of meant.filter(({ fly }) => !fly)) {
      const less = regions.some(({ fly }) => fly) ? ', or leave the region out by `match`' : '';
      check.problem(
        path,
        `acts in ${name}, which does not allow it: set \`regions.${name}.fly: true\`${less}`,
      );
    }
    if (!action) return [];
    const hasLogin = ['users', 'proxy', 'oidc'].some((key) => check.raw(['web', 'auth', key]) !== undefined);
    if (action.approval === 'two' && !hasLogin) {
      const message = 'needs people who log in by their own names: set `web.auth.users`, `proxy` or `oidc`';
      check.problem([...path, 'approval'], message);
    }
    const { name, wait: waitMs, at_most: atMost, per_hour: perHour, hold_notification: holdMs } = action;
    const [approvals, isDryRun] = [APPROVALS[action.approval], action.dry_run];
    return [{ name, match, waitMs, atMost, perHour, holdMs, approvals, isDryRun }];
  });
}
