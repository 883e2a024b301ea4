import { describe, expect, test } from 'vitest';
import { parseMatchers } from '../../../src/domain/matchers/matcher.ts';
import { createMuting } from '../../../src/domain/muting/muting.ts';
import {
  isHiding,
  type Recurrences,
  type Silence,
  silenceState,
} from '../../../src/domain/muting/silence.ts';
import {
  acknowledge,
  type ChangeContext,
  expireSilence,
  type SilenceChange,
  type SilenceRequest,
  setSilence,
} from '../../../src/domain/muting/silence-change.ts';
import { alert, silence as stored } from '../../store/contract/sample-records.ts';
import { minute } from '../world.ts';

/** Windows are open in odd minutes; the word `wrong` is not a cron expression. */
const recurrences: Recurrences = {
  problem: ({ cron }) => (cron === 'wrong' ? 'the cron expression is not valid' : undefined),
  isOpen: (_, nowUs) => Math.floor((nowUs - minute(0)) / 60_000_000) % 2 === 1,
  nextOpening(_, fromUs, beforeUs) {
    const odd = minute(2 * Math.ceil(((fromUs - minute(0)) / 60_000_000 - 1) / 2) + 1);
    return odd < beforeUs ? odd : undefined;
  },
};
const RECURRENCE = { cron: '1-59/2 * * * *', timezone: 'UTC', durationMs: 60_000 };
const MATCHERS = parseMatchers('alertname="FlightFailed",nest=~"Prod.*"');

const silence = (id: string, changes: Partial<Silence> = {}) =>
  stored(id, {
    ...{ matchers: MATCHERS, createdBy: 'ann', comment: 'maintenance' },
    ...{ startsAtUs: minute(10), endsAtUs: minute(20), updatedAtUs: minute(0) },
    ...changes,
  });

const ALERT = alert('FlightFailed/93f7e433/eu/bird/A', {
  labels: { alertname: 'FlightFailed', severity: 'warning', region: 'eu', nest: 'Production' },
  startsAtUs: minute(3),
});
/** What a silence has that acknowledges it. */
const ACK = { alertId: ALERT.id, alertStartsAtUs: ALERT.startsAtUs };

const atOnce = () => undefined;
const mutedBy = (silences: readonly Silence[]) =>
  createMuting(
    { silences, inhibitRules: [], firing: [], timeIntervals: new Map(), recurrences, nowUs: minute(11) },
    atOnce,
  );

describe('a silence', () => {
  test.each([
    [9, 'pending', false],
    [10, 'active', true],
    [19.99, 'active', true],
    [20, 'expired', false],
  ] as const)('at minute %d is %s', (at, state, hides) => {
    expect(silenceState(silence('s'), minute(at))).toBe(state);
    expect(isHiding(silence('s'), minute(at), recurrences)).toBe(hides);
  });

  test.each([
    ['that began when it was made goes on', { updatedAtUs: minute(10) }, 'active'],
    ['that was made to begin later has not begun', { updatedAtUs: minute(9) }, 'pending'],
    ['that was ended by hand stays over', { updatedAtUs: minute(20) }, 'expired'],
    [
      'that was ended by hand before it began stays over',
      { startsAtUs: minute(20), updatedAtUs: minute(20) },
      'expired',
    ],
  ] as const)('%s if our clock was set back since', (_what, changes, state) => {
    expect(silenceState(silence('s', changes), minute(5))).toBe(state);
  });

  test('that recurs mutes only in its windows between its start and its end', () => {
    const one = silence('s', { recurrence: RECURRENCE });
    const hides = [9, 10, 11, 12, 13, 19, 21].map((at) => isHiding(one, minute(at), recurrences));
    expect(hides).toEqual([false, false, true, false, true, true, false]);
  });

  test('that acknowledges mutes only this episode of its alert, whatever its labels', async () => {
    const muting = await mutedBy([silence('s', ACK)]);
    const silencedBy = async (one: typeof ALERT) =>
      (await muting.of(one, atOnce)).silencedBy.map(({ id }) => id);
    expect(await silencedBy(ALERT)).toEqual(['s']);
    expect(await silencedBy({ ...ALERT, id: 'another' })).toEqual([]);
    expect(await silencedBy({ ...ALERT, state: 'resolved' })).toEqual([]);
    expect(await silencedBy({ ...ALERT, startsAtUs: minute(12) })).toEqual([]);
  });

  test('gives its id, and the reason in words', async () => {
    const over = silence('over', { endsAtUs: minute(11) });
    const muting = await mutedBy([over, silence('ack', ACK), silence('s'), silence('t')]);
    const { silencedBy, inhibitedBy } = await muting.of(ALERT, atOnce);
    expect([silencedBy.map(({ id }) => id), inhibitedBy]).toEqual([['s', 't', 'ack'], []]);
    const route = { muteTimeIntervals: [] } as never;
    const detail = 'by ann: maintenance (s)';
    expect(await muting.why(ALERT, route, atOnce)).toEqual({ reason: 'silenced', detail });
    const elsewhere = { ...ALERT, id: 'another', labels: { ...ALERT.labels, nest: 'Sandbox' } };
    expect(await muting.why(elsewhere, route, atOnce)).toBeNull();
  });
});

describe('changing silences', () => {
  const at = (now: number): ChangeContext => ({ newId: 'new', recurrences, nowUs: minute(now) });
  const request = (changes: Partial<SilenceRequest> = {}): SilenceRequest => ({
    matchers: MATCHERS,
    startsAtUs: minute(10),
    endsAtUs: minute(20),
    createdBy: 'bob',
    comment: 'again',
    ...changes,
  });
  const written = (change: SilenceChange) =>
    change.ok ? change.write.map(({ id, startsAtUs, endsAtUs }) => [id, startsAtUs, endsAtUs]) : change;

  test('a new one has the new id and begins now at the earliest', () => {
    const made = (startsAtUs?: number) => setSilence([], request({ startsAtUs }), at(5));
    const now = { startsAtUs: minute(5), updatedAtUs: minute(5), createdBy: 'bob', comment: 'again' };
    expect(made(minute(1))).toEqual({ ok: true, id: 'new', write: [silence('new', now)] });
    expect(written(made())).toEqual([['new', minute(5), minute(20)]]);
    expect(written(made(minute(12)))).toEqual([['new', minute(12), minute(20)]]);
  });

  test('a later end, comment or author keeps the id of an active one', () => {
    const ack = silence('s', { ...ACK, alertStartsAtUs: 3 });
    const change = setSilence([ack], request({ id: 's', endsAtUs: minute(30) }), at(15));
    expect(change).toMatchObject({ ok: true, id: 's' });
    expect(change.ok && change.write).toEqual([
      { ...ack, endsAtUs: minute(30), updatedAtUs: minute(15), createdBy: 'bob', comment: 'again' },
    ]);
  });

  test('the start of an active one, as a client returns it cut to milliseconds, counts as the same', () => {
    const one = silence('s', { startsAtUs: minute(10) + 123_456 });
    const cut = request({ id: 's', startsAtUs: minute(10) + 123_000 });
    expect(written(setSilence([one], cut, at(15)))).toEqual([['s', minute(10) + 123_456, minute(20)]]);
  });

  test.each([
    ['other matchers', { matchers: parseMatchers('a="b"') }, 15],
    ['another recurrence', { recurrence: RECURRENCE }, 15],
    ['another start of an active one', { startsAtUs: minute(11) }, 15],
  ])('%s ends the old one and creates a new one', (_, changes, now) => {
    expect(written(setSilence([silence('s')], request({ id: 's', ...changes }), at(now)))).toEqual([
      ['s', minute(10), minute(now)],
      ['new', minute(now), minute(20)],
    ]);
  });

  test('a pending one moves as a whole, but not to before now', () => {
    const moved = request({ id: 's', startsAtUs: minute(12) });
    expect(written(setSilence([silence('s')], moved, at(5)))).toEqual([['s', minute(12), minute(20)]]);
    const earlier = request({ id: 's', startsAtUs: minute(4) });
    expect(written(setSilence([silence('s')], earlier, at(5)))).toEqual([
      ['s', minute(5), minute(5)],
      ['new', minute(5), minute(20)],
    ]);
  });

  test('an expired one comes back under a new id and stays as it was', () => {
    const change = setSilence([silence('s')], request({ id: 's', endsAtUs: minute(40) }), at(30));
    expect(written(change)).toEqual([['new', minute(30), minute(40)]]);
  });

  test('the recurrence stays if it is not mentioned, and is removed by null', () => {
    const one = silence('s', { recurrence: RECURRENCE });
    const same = setSilence([one], request({ id: 's' }), at(15));
    expect(same.ok && same.write).toMatchObject([{ id: 's', recurrence: RECURRENCE }]);
    const gone = setSilence([one], request({ id: 's', recurrence: null }), at(15));
    expect(gone.ok && gone.write).toMatchObject([{ id: 's' }, { id: 'new', recurrence: null }]);
  });

  test('that only excludes is accepted, as in Alertmanager', () => {
    for (const text of ['b!="c"', 'b!~"c.*"', 'a=~".*",b!="c"']) {
      expect(setSilence([], request({ matchers: parseMatchers(text) }), at(15)).ok).toBe(true);
    }
  });

  test.each([
    ['no matchers', { matchers: [] }, 'at least one matcher required'],
    [
      'matchers that fit everything',
      { matchers: parseMatchers('a=~".*",b=""') },
      'at least one matcher must not match the empty string',
    ],
    ['an end before the start', { endsAtUs: minute(9) }, 'start time must be before end time'],
    ['an end that is past', { startsAtUs: minute(1), endsAtUs: minute(2) }, "end time can't be in the past"],
    [
      'a wrong recurrence',
      { recurrence: { ...RECURRENCE, cron: 'wrong' } },
      'the cron expression is not valid',
    ],
  ])('%s is refused', (_, changes, message) => {
    const change = setSilence([], request(changes), at(5));
    expect(change).toEqual({ ok: false, problem: 'invalid', message });
  });

  test('an unknown id is refused', () => {
    const missing = { ok: false, problem: 'not_found', message: 'silence not found' };
    expect(setSilence([], request({ id: 's' }), at(5))).toEqual(missing);
    expect(expireSilence([], 's', minute(5))).toEqual(missing);
  });

  test('expiring sets the end to now, also the start of a pending one, and changes nothing of an expired one', () => {
    const expire = (now: number) => written(expireSilence([silence('s')], 's', minute(now)));
    expect(expire(15)).toEqual([['s', minute(10), minute(15)]]);
    expect(expire(5)).toEqual([['s', minute(5), minute(5)]]);
    expect(expire(25)).toEqual([]);
    const change = expireSilence([silence('s')], 's', minute(5));
    expect(change.ok && change.write.map((one) => silenceState(one, minute(5)))).toEqual(['expired']);
  });
});

describe('acknowledging', () => {
  const by = { createdBy: 'ann', comment: 'I look at it' };
  const context = { newId: 'new', nowUs: minute(5) };

  test('is a silence of all labels of the alert, bound to its episode', () => {
    const change = acknowledge([], ALERT, by, context);
    expect(change).toMatchObject({
      ok: true,
      id: 'new',
      write: [{ ...by, startsAtUs: minute(5), alertId: ALERT.id, alertStartsAtUs: minute(3) }],
    });
    const [made] = change.ok ? change.write : [];
    expect(made!.matchers.map(({ name, op, value }) => `${name}${op}${value}`)).toEqual([
      'alertname=FlightFailed',
      'severity=warning',
      'region=eu',
      'nest=Production',
    ]);
  });

  test('twice has the effect of once, unless the first was expired or was for another episode', () => {
    const known = silence('s', { ...ACK, startsAtUs: minute(4) });
    expect(acknowledge([known], ALERT, by, context)).toEqual({ ok: true, id: 's', write: [] });
    const ended = { ...known, endsAtUs: minute(5) };
    const earlier = { ...known, alertStartsAtUs: minute(1) };
    expect(acknowledge([ended, earlier], ALERT, by, context)).toMatchObject({ ok: true, id: 'new' });
  });

  test('what does not fire is refused', () => {
    expect(acknowledge([], { ...ALERT, state: 'resolved' }, by, context)).toEqual({
      ok: false,
      problem: 'invalid',
      message: 'the alert is not firing',
    });
  });
});
