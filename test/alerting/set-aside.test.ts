/** If an alert, group, rule or silence fails, all others are still notified. */

import { describe, expect, test } from 'vitest';
import { defaultRule } from '../../src/domain/kinds/kinds.ts';
import { knownMatcher, type Matcher } from '../../src/domain/matchers/matcher.ts';
import { node, tree } from '../domain/route-tree.ts';
import { silence } from '../store/contract/sample-records.ts';
import { type Desk, hook, openDesk } from './desk.ts';

let desk: Desk;

const GROUPED = { groupBy: ['alertname', 'bird'] };

/** Fails for the Bird `Bad` while `isBroken` says so. */
function failing(isBroken: () => boolean): Matcher {
  return {
    name: 'bird',
    op: '=',
    value: 'Bad',
    matches({ bird }) {
      if (bird === 'Bad' && isBroken()) throw new TypeError('no answer');
      return false;
    },
  };
}

const faults = () => desk.store.faults.list(desk.clock.nowUs(), 100);
const told = () => desk.lines('ops').map((line) => line.replace(/^.*?: /, ''));

describe('is set aside, named, and retried after a while and at a start:', () => {
  test('a group that cannot be flushed', async () => {
    let isBroken = true;
    const route = tree(node('', GROUPED, [node('bird="Bad"', { receiver: 'bad', ...GROUPED })]));
    Object.defineProperty(route.routes[0], 'escalation', {
      get() {
        if (isBroken) throw new TypeError('no escalation');
        return undefined;
      },
    });
    desk = await openDesk({ route, receivers: [hook('ops'), hook('bad')] });
    await desk.story('fails Bad Good, 2');
    expect(told()).toEqual([expect.stringContaining('Good')]);
    const [fault, ...others] = await faults();
    expect(others).toEqual([]);
    expect(fault).toMatchObject({ sort: 'group', reason: 'TypeError: no escalation' });
    expect(fault!.name).toContain('bird="Bad"');
    const tries = () => desk.happenings.filter(({ what }) => what === 'set_aside').length;
    const before = desk.committed();
    await desk.pass(4);
    expect(tries()).toBe(1);
    expect(desk.committed() - before).toBeLessThan(60);

    isBroken = false;
    await desk.pass(6);
    expect(desk.lines('bad')).toHaveLength(1);
    expect(await faults()).toEqual([]);
  });

  test('an alert that cannot join its groups', async () => {
    let isBroken = true;
    const broken = { ...node('', { receiver: 'ops' }), matchers: [failing(() => isBroken)] };
    desk = await openDesk({ route: tree(node('', GROUPED, [broken])), receivers: [hook('ops')] });
    await desk.story('fails Bad Good, 2');
    expect(told()).toEqual([expect.stringContaining('Good')]);
    expect(await faults()).toMatchObject([{ sort: 'alert', reason: 'TypeError: no answer' }]);
    await desk.story('fails Other, 2');
    expect(told()).toHaveLength(2);

    isBroken = false;
    await desk.story('restart, 2');
    expect(told()).toHaveLength(3);
    expect(await faults()).toEqual([]);
  });

  test('a delivery that cannot be given to a fallback [long]', async () => {
    let isBroken = true;
    const [integration] = hook('spare').integrations;
    const broken = {
      ...integration!,
      get sendResolved(): boolean {
        if (isBroken) throw new TypeError('no answer');
        return true;
      },
    };
    const route = node('', GROUPED, [node('bird="Bad"', { receiver: 'bad', ...GROUPED })]);
    desk = await openDesk({
      route: tree(route),
      receivers: [
        hook('ops', { fallback: 'backup' }),
        hook('bad', { fallback: 'spare' }),
        hook('backup'),
        { name: 'spare', integrations: [broken] },
      ],
      answer: (receiver) => (receiver === 'ops' || receiver === 'bad' ? 503 : 200),
    });
    await desk.story('fails Bad Good, 8');
    expect(desk.lines('backup').filter((line) => line.includes('Good'))).toHaveLength(1);
    const [fault, ...others] = await faults();
    expect(others).toEqual([]);
    expect(fault).toMatchObject({ sort: 'delivery', reason: 'TypeError: no answer' });
    const [meant] = await desk.store.outbox.page({ receiver: 'bad', limit: 1 }).then((one) => one.deliveries);
    expect(fault!.name).toBe(meant!.id);
    expect(desk.lines('spare')).toEqual([]);

    isBroken = false;
    await desk.pass(6);
    expect(desk.lines('spare').filter((line) => line.includes('Bad'))).toHaveLength(1);
    expect(await faults()).toEqual([]);
  });

  test('an alert that a rule cannot judge', async () => {
    const rule = { id: 'r', match: [failing(() => true)] };
    desk = await openDesk({
      route: tree(node('', GROUPED)),
      receivers: [hook('ops')],
      rules: [{ ...defaultRule('FlightFailed'), ...rule }, defaultRule('FlightFailed')],
    });
    await desk.story('fails Bad Good, 2');
    expect(told()).toEqual([expect.stringContaining('Good')]);
    expect(await faults()).toMatchObject([{ sort: 'rule', reason: 'TypeError: no answer' }]);
  });

  test('a silence that cannot be matched, which mutes nothing', async () => {
    desk = await openDesk({ route: tree(node('', GROUPED)), receivers: [hook('ops')] });
    const nowUs = desk.clock.nowUs();
    const about = (op: '=' | '=~', value: string) => ({
      ...{ startsAtUs: nowUs, endsAtUs: nowUs + 3_600_000_000, updatedAtUs: nowUs },
      matchers: [knownMatcher({ name: 'bird', op, value })],
    });
    const recurrence = { cron: 'never', timezone: 'UTC', durationMs: 60_000 };
    await desk.store.silences.put([
      silence('no regex', about('=~', '(')),
      silence('no cron', { ...about('=', 'Good'), recurrence }),
      silence('sound', about('=', 'Quiet')),
    ]);
    await desk.story('fails Good Quiet, 2');
    expect(told()).toEqual([expect.stringContaining('Good')]);
    const names = (await faults()).map(({ sort, name }) => [sort, name]);
    expect(names.toSorted()).toEqual([
      ['silence', 'no cron'],
      ['silence', 'no regex'],
    ]);
  });
});
