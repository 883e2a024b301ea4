import { describe, expect, test } from 'vitest';
import type { Alert } from '../../../src/domain/alert/alert.ts';
import type { Mute } from '../../../src/domain/muting/muting.ts';
import { node, tree } from '../route-tree.ts';
import { minute } from '../world.ts';
import { failed, type GroupingStory, groupingStory, line, type Story, succeeded } from './grouping-story.ts';

const ROOT = tree(node('', { groupBy: ['alertname', 'region'] }));

const SILENCED: Mute = { reason: 'silenced', detail: 'by ann: maintenance (s1)' };
const INHIBITED: Mute = { reason: 'inhibited', detail: 'by RegionDown (f1)' };

/** Mutes a Bird's alerts from one minute to another. */
const muted =
  (bird: string, from: number, to: number, mute = SILENCED) =>
  (alert: Alert, at: number): Mute | null =>
    alert.labels.bird === bird && at >= from && at < to ? mute : null;

/** Plays the facts at their minutes, then lets time pass up to `until`. */
function play(why: (alert: Alert, at: number) => Mute | null, until: number, ...story: Story): GroupingStory {
  const here = groupingStory(ROOT, [], why);
  here.play(...story, [until]);
  return here;
}

describe('a muted alert', () => {
  test('that still fires when its muting ends is notified then, with all of its events', () => {
    const here = play(muted('A', 0, 9), 12, [0, failed(0)], [3, failed(3)]);
    expect(here.sent.map(line)).toEqual(['0: first, firing: A firing +2']);
    expect(here.sent[0]!.createdAtUs).toBe(minute(10.5));
    expect(here.suppressed).toEqual([]);
  });

  test('that was notified before is not repeated, and its new events are notified when the muting ends', () => {
    const here = play(muted('A', 1, 300), 306, [0, failed(0)], [3, failed(3)]);
    expect(here.sent.map(line)).toEqual([
      '0: first, firing: A firing +1',
      '1: new_events, firing: A firing +1',
    ]);
    expect(here.sent[1]!.createdAtUs).toBe(minute(300.5));
  });

  test('that resolves before its muting ends is never notified, and the reason is recorded once', () => {
    const here = play(muted('A', 0, 9), 60, [0, failed(0)], [1, failed(1)], [3, succeeded(3)]);
    expect(here.sent).toEqual([]);
    expect(here.suppressed).toEqual([
      {
        alertId: 'FlightFailed/93f7e433/eu/bird/A',
        afterSeq: 0,
        lastSeq: 2,
        groupKey: '{}:{alertname="FlightFailed", region="eu"}',
        receiver: 'ops',
        ...SILENCED,
        atUs: minute(5.5),
      },
    ]);
    expect(here.groups()).toEqual([]);
  });

  test('whose beginning was notified and that ends while it is silenced: the end is not notified, as in Alertmanager', () => {
    const here = play(muted('A', 1, 20), 60, [0, failed(0)], [3, succeeded(3)]);
    expect(here.sent.map(line)).toEqual(['0: first, firing: A firing +1']);
    expect(here.suppressed).toMatchObject([{ afterSeq: 1, lastSeq: 1, reason: 'silenced' }]);
  });

  test('whose beginning was notified and that ends while it is inhibited: the end waits, and is notified once', () => {
    const here = play(muted('A', 1, 20, INHIBITED), 60, [0, failed(0)], [3, succeeded(3)]);
    expect(here.sent.map(line)).toEqual([
      '0: first, firing: A firing +1',
      '1: resolved, resolved: A resolved +0',
    ]);
    expect(here.sent[1]!.createdAtUs).toBe(minute(20.5));
    expect(here.suppressed).toEqual([]);
    expect(here.groups()).toEqual([]);
  });

  test('whose end is inhibited while its group notifies of another is notified later', () => {
    const here = play(muted('A', 1, 14, INHIBITED), 30, [0, failed(0)], [3, succeeded(3), failed(3, 'B')]);
    expect(here.sent.map(line)).toEqual([
      '0: first, firing: A firing +1',
      '1: new_alerts, firing: B firing +1',
      '2: resolved, firing: A resolved +0; B firing +0',
    ]);
  });

  test('that fires again while its end is inhibited continues as the one that was notified', () => {
    const here = play(muted('A', 1, 20, INHIBITED), 30, [0, failed(0)], [3, succeeded(3)], [8, failed(8)]);
    expect(here.sent.map(line)).toEqual([
      '0: first, firing: A firing +1',
      '1: new_events, firing: A firing +1',
    ]);
  });

  test('that is resolved and inhibited without having been notified is never notified', () => {
    const here = play(muted('A', 0, 9, INHIBITED), 60, [0, failed(0)], [3, succeeded(3)]);
    expect(here.sent).toEqual([]);
    expect(here.suppressed).toMatchObject([{ afterSeq: 0, lastSeq: 1, reason: 'inhibited' }]);
  });

  test('that fires again after an end that was not notified is notified as new', () => {
    const here = play(muted('A', 1, 20), 60, [0, failed(0)], [3, succeeded(3)], [30, failed(30)]);
    expect(here.sent.map(line)).toEqual(['0: first, firing: A firing +1', '0: first, firing: A firing +1']);
  });

  test('that ends within the interval in which its muting ends is notified', () => {
    const here = play(muted('A', 0, 4), 60, [0, failed(0)], [3, succeeded(3)]);
    expect(here.sent.map(line)).toEqual(['0: first, resolved: A resolved +1']);
    expect(here.suppressed).toEqual([]);
  });

  test('is left out when the others of its group are notified', () => {
    const here = play(muted('A', 0, 60), 20, [0, failed(0), failed(0, 'B')], [3, succeeded(3, 'B')]);
    expect(here.sent.map(line)).toEqual([
      '0: first, firing: B firing +1',
      '1: resolved, resolved: B resolved +0',
    ]);
    expect(here.sent[0]).toMatchObject({ firingTotal: 1, truncatedAlerts: 0 });
  });

  test('does not make the news of another the first of a thread if it was notified itself', () => {
    const here = play(muted('A', 1, 60), 20, [0, failed(0)], [3, failed(3, 'B')]);
    expect(here.sent.map(line)).toEqual([
      '0: first, firing: A firing +1',
      '1: new_alerts, firing: B firing +1',
    ]);
  });

  test('is notified again if its group has notified without it meanwhile, with no event twice', () => {
    const here = play(muted('A', 1, 14), 30, [0, failed(0)], [3, failed(3, 'B')]);
    expect(here.sent.map(line)).toEqual([
      '0: first, firing: A firing +1',
      '1: new_alerts, firing: B firing +1',
      '2: new_alerts, firing: A firing +0; B firing +0',
    ]);
    expect(here.sent[2]!.createdAtUs).toBe(minute(15.5));
  });

  test('whose group has notified without it, and that ends after its muting, is notified as resolved', () => {
    const here = play(muted('A', 1, 14), 30, [0, failed(0)], [3, failed(3, 'B')], [14.5, succeeded(14.5)]);
    expect(here.sent.map(line)).toEqual([
      '0: first, firing: A firing +1',
      '1: new_alerts, firing: B firing +1',
      '2: resolved, firing: A resolved +0; B firing +0',
    ]);
  });

  test('is not repeated, and does not keep the others from being repeated', () => {
    const here = play(muted('A', 1, 1000), 260, [0, failed(0), failed(0, 'B')]);
    expect(here.sent.map(line)).toEqual([
      '0: first, firing: A firing +1; B firing +1',
      '1: repeat, firing: B firing +0',
    ]);
  });

  test('alone keeps its group from coming to rest: what fires next waits for group_interval', () => {
    const here = play(muted('A', 0, 60), 20, [0, failed(0)], [7, failed(7, 'B')]);
    expect(here.sent.map((one) => one.createdAtUs)).toEqual([minute(10.5)]);
  });
});
