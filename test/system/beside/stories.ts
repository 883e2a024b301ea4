/**
 * Stories in which both programs must notify alike. Seconds stand for what takes minutes in production: groups wait 1
 * s, have an interval of 3 s, and repeat after 8 s. Steps keep half a second away from every flush.
 *
 * Where nestwatch differs on purpose:
 * - An alert that resolved before the first notification of its group is notified once, as resolved, if it has
 *   events: a failed Flight is news even if the next one succeeded within `group_wait`. Alerts of these stories have
 *   no events.
 * - New events of a firing alert are notified at the next `group_interval`; Alertmanager has no events.
 * - A region that is down inhibits the alerts of its Birds without a rule.
 * - If a notified alert resolves while it is inhibited, that is notified once the inhibition ends. Alertmanager never
 *   notifies it, and whoever was told of the beginning believes that it is still open.
 * - `group_wait` counts from when nestwatch saw the alert, never from its `startsAt`: what one page of late entries
 *   brought is notified together.
 * - Groups survive a restart, so nothing is notified again because of it. Alertmanager remembers what it has
 *   notified, but not when a group is due.
 */
import type { Labels } from '../../../src/domain/alert/alert.ts';
import type { Step, Story } from './story.ts';

const TIMES = 'group_wait: 1s, group_interval: 3s, repeat_interval: 8s';
const CONFIG = `route: { receiver: ops, group_by: [alertname, nest], ${TIMES} }`;

/** With one receiver and one route. */
const plain = (name: string, lasts: number, steps: readonly Step[]): Story => ({
  ...{ name, lasts, steps, config: CONFIG, receivers: ['ops'] },
});

function failed(bird: string, more: Labels = {}): Labels {
  return { alertname: 'FlightFailed', bird, nest: 'Marketing', region: 'eu', severity: 'warning', ...more };
}

const BLOG = failed('Translate blog');
const NEWS = failed('Translate news');
const LEGAL = failed('Contracts', { nest: 'Legal' });
const NOTICE: Labels = { alertname: 'ServiceNotification', region: 'eu', severity: 'critical' };
const DOWN: Labels = { alertname: 'RegionDown', region: 'eu', severity: 'critical' };

export const STORIES: readonly Story[] = [
  plain('one alert is told after group_wait, and again after repeat_interval', 12, [{ at: 0, fire: [BLOG] }]),
  plain('alerts of one group are told together, another group by itself', 6, [
    { at: 0, fire: [BLOG] },
    { at: 0.5, fire: [NEWS, LEGAL] },
  ]),
  plain('what joins a group later is told at its next interval, with what still fires', 9, [
    { at: 0, fire: [BLOG] },
    { at: 2, fire: [NEWS] },
  ]),
  plain('an end is told at the next interval, and then nothing more', 14, [
    { at: 0, fire: [BLOG] },
    { at: 2, resolve: [BLOG] },
  ]),
  plain('the end of one of two is told with the one that still fires', 14, [
    { at: 0, fire: [BLOG, NEWS] },
    { at: 2, resolve: [NEWS] },
    { at: 5.5, resolve: [BLOG] },
  ]),
  plain('a group that was over and fires again waits for group_wait again', 13, [
    { at: 0, fire: [BLOG] },
    { at: 2, resolve: [BLOG] },
    { at: 8.5, fire: [BLOG] },
  ]),
  plain('an end and a new beginning between two intervals are no news', 7.5, [
    { at: 0, fire: [BLOG] },
    { at: 2, resolve: [BLOG] },
    { at: 2.5, fire: [BLOG] },
  ]),
  plain('what is over before group_wait is not told', 6, [
    { at: 0, fire: [BLOG] },
    { at: 0.4, resolve: [BLOG] },
  ]),
  {
    name: 'continue tells several receivers, each by its own route',
    config: `
route:
  receiver: ops
  group_by: [alertname, nest]
  group_wait: 1s
  group_interval: 3s
  repeat_interval: 8s
  routes:
    - { matchers: ['severity="critical"'], receiver: pager, group_by: [region], continue: true }
    - { matchers: ['region=~"eu|us"', 'nest!="Sandbox"'], receiver: europe, group_by: ['...'] }`,
    receivers: ['ops', 'pager', 'europe'],
    steps: [
      { at: 0, fire: [{ ...BLOG, severity: 'critical' }, NEWS, failed('Play', { nest: 'Sandbox' })] },
      { at: 2, fire: [NOTICE] },
      { at: 2, resolve: [NEWS] },
    ],
    lasts: 9,
  },
  {
    name: 'children override the timers of their parents',
    config: `
route:
  receiver: ops
  group_by: [alertname]
  group_wait: 2s
  group_interval: 5s
  repeat_interval: 1h
  routes:
    - matchers: ['nest="Legal"']
      group_wait: 1s
      routes:
        - { matchers: ['severity="critical"'], receiver: pager, group_interval: 3s }`,
    receivers: ['ops', 'pager'],
    steps: [
      { at: 0, fire: [BLOG, LEGAL, { ...LEGAL, bird: 'Deeds', severity: 'critical' }] },
      { at: 2.5, fire: [{ ...LEGAL, bird: 'Wills', severity: 'critical' }, NEWS] },
    ],
    lasts: 9,
  },
  plain('a silence hides what fires; what still fires at its end is told then', 10, [
    { at: 0, silence: [{ name: 'bird', value: 'Translate (blog|shop)', isRegex: true, isEqual: true }] },
    { at: 0.4, fire: [BLOG, NEWS] },
    { at: 6, expire: true },
  ]),
  plain('what ends under a silence is not told, even where its beginning was', 9, [
    { at: 0, fire: [BLOG, NEWS] },
    { at: 2, silence: [{ name: 'bird', value: 'Translate blog', isRegex: false, isEqual: true }] },
    { at: 2.5, resolve: [BLOG] },
    { at: 6, expire: true },
  ]),
  plain('what begins and ends under a silence is never told', 8, [
    { at: 0, silence: [{ name: 'nest', value: 'Legal', isRegex: false, isEqual: false }] },
    { at: 0.5, fire: [BLOG, LEGAL] },
    { at: 2.5, resolve: [BLOG] },
    { at: 3, expire: true },
  ]),
  {
    name: 'what fires with equal labels inhibits, until it is over',
    config: `${CONFIG}
inhibit_rules:
  - source_matchers: ['alertname="RegionDown"']
    target_matchers: ['alertname="FlightFailed"']
    equal: [region]`,
    receivers: ['ops'],
    steps: [
      { at: 0, fire: [DOWN] },
      { at: 0.5, fire: [BLOG, failed('Shop', { region: 'us', nest: 'Shop' })] },
      { at: 6, resolve: [DOWN] },
    ],
    lasts: 12.5,
  },
  {
    name: 'routes are muted in their time intervals, and outside of those in which they are active',
    config: `
route:
  receiver: ops
  group_by: [alertname, nest]
  group_wait: 1s
  group_interval: 3s
  repeat_interval: 8s
  routes:
    - { matchers: ['nest="Marketing"'], mute_time_intervals: [always] }
    - { matchers: ['nest="Legal"'], active_time_intervals: [long ago] }
    - { matchers: ['nest="Shop"'], mute_time_intervals: [long ago], active_time_intervals: [always], receiver: pager }
time_intervals:
  - { name: always, time_intervals: [{ times: [{ start_time: "00:00", end_time: "24:00" }] }] }
  - { name: long ago, time_intervals: [{ years: ["1990:1995"] }] }`,
    receivers: ['ops', 'pager'],
    steps: [{ at: 0, fire: [BLOG, LEGAL, failed('Shop', { nest: 'Shop' }), failed('Ads', { nest: 'Ads' })] }],
    lasts: 12,
  },
];
