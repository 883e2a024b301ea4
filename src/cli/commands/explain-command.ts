/** Prints the way of one event from the service to the receivers, as lines to be read from top to bottom. */

import * as z from 'zod';
import { NestwatchError } from '../../errors.ts';
import type { Edge } from '../../process-io.ts';
import { howMany } from '../../text/counts.ts';
import { durationWords } from '../../text/duration-words.ts';
import { type DaemonOptions, daemonJson } from '../daemon-client.ts';
import { jsonText, shown, shownList, shownSentence, shownTime } from '../terminal-text.ts';
import { alertsShow } from './alerts/alerts-show-command.ts';
import { birdsShow } from './birds-command.ts';
import { deliveriesShow } from './deliveries-command.ts';
import { FINDINGS, findingLines } from './finding-lines.ts';
import { flightsShow } from './flights-command.ts';
import { DELIVERIES, shownIntegration } from './printed-lists.ts';

const explanationShape = z.object({
  event: z.object({
    key: z.string(),
    type: z.string(),
    region: z.string(),
    nest: z.string(),
    bird: z.string(),
    message: z.string(),
  }),
  seen: z.object({
    feed: z.string(),
    occurred_at: z.string(),
    observed_at: z.string(),
    delay_seconds: z.number(),
    historic: z.boolean(),
  }),
  rules: z.array(
    z.object({
      alertname: z.string(),
      rule: z.number().nullable(),
      name: z.string().nullable().default(null),
      built_in: z.boolean(),
      threshold: z.number().nullable(),
    }),
  ),
  alerts: z.array(
    z.object({
      id: z.string(),
      state: z.string(),
      startsAt: z.string().nullable(),
      endsAt: z.string(),
      seq: z.number(),
      findings: FINDINGS,
    }),
  ),
  no_alert: z.string().nullable(),
  waiting: z.array(
    z.object({
      receiver: z.string(),
      group_key: z.string(),
      next_flush: z.string(),
      muted: z.string().nullable(),
      unless_acknowledged: z.boolean().default(false),
    }),
  ),
  notifications: z.array(
    z.object({
      id: z.string(),
      receiver: z.string(),
      group_key: z.string(),
      reason: z.string(),
      created_at: z.string(),
      listed: z.boolean(),
      deliveries: z.array(DELIVERIES.item),
    }),
  ),
  deadlines: z
    .array(
      z.object({
        rule: z.string(),
        at: z.string(),
        outcome: z.string(),
        late_seconds: z.number().nullable(),
      }),
    )
    .default([]),
  actions: z.array(z.object({ summary: z.string() })).default([]),
  suppressions: z.array(
    z.object({
      receiver: z.string(),
      group_key: z.string(),
      reason: z.string(),
      detail: z.string(),
      at: z.string(),
      notified_later: z.boolean().default(false),
    }),
  ),
  forwards: z.array(
    z.object({ receiver: z.string(), state: z.string(), deliveries: z.array(DELIVERIES.item) }),
  ),
});
type Explanation = z.output<typeof explanationShape>;

/**
 * The answer if there is no event: the id is unknown, or what it names has no event, such as an alert about the watch
 * itself.
 */
const noEventShape = z.object({
  error: z.string(),
  meant: z
    .object({
      kind: z.enum(['event', 'alert', 'delivery', 'flight', 'bird', 'silence']),
      id: z.string(),
      region: z.string().optional(),
    })
    .optional(),
});
type NoEvent = z.output<typeof noEventShape>;
type Delivery = z.output<typeof DELIVERIES.item>;

interface ExplainOptions extends DaemonOptions {
  readonly json: boolean;
}

/** Explains an event. If what is named has no event, everything known about it is shown instead. */
export async function explain(edge: Edge, key: string, options: ExplainOptions): Promise<number> {
  const path = `/api/v1/events/${encodeURIComponent(key)}/explain`;
  const { json, data } = await daemonJson(
    edge,
    options,
    { method: 'GET', path, alsoAnswers: 404 },
    z.union([explanationShape, noEventShape]),
  );
  if ('error' in data) return showWhatIsKnown(edge, data, options);
  edge.stdout.write(options.json ? jsonText(json) : `${linesOf(data).join('\n')}\n`);
  return 0;
}

async function showWhatIsKnown(
  edge: Edge,
  { error, meant }: NoEvent,
  options: ExplainOptions,
): Promise<number> {
  const about = shown(error);
  if (!meant || meant.kind === 'event' || meant.kind === 'silence') throw new NestwatchError('usage', about);
  const { kind, id, region } = meant;
  edge.stderr.write(`nestwatch: ${about} This is what is known of it.\n`);
  if (kind === 'alert') return alertsShow(edge, id, options);
  if (kind === 'delivery') return deliveriesShow(edge, id, options);
  if (kind === 'flight') return flightsShow(edge, id, { ...options, log: false });
  return birdsShow(edge, [id, ...(region === undefined ? [] : [`region=${region}`])], options);
}

function linesOf(data: Explanation): string[] {
  const { event, seen, rules, alerts, no_alert, waiting, notifications, suppressions, forwards } = data;
  const place = [event.region, event.nest, event.bird].filter(Boolean).join(' / ');
  return [
    `${shown(event.key)}: ${shown(event.type)} in ${shown(place)}`,
    ...(event.message ? [`  ${shown(event.message)}`] : []),
    `seen       by feed ${seen.feed}: occurred ${shownTime(seen.occurred_at)}, observed ${shownTime(seen.observed_at)}, ${seen.delay_seconds.toFixed(1)} s later${seen.historic ? ', before the watch began' : ''}`,
    ...rules.map(
      ({ alertname, rule, name, built_in }) =>
        `rule       ${alertname}: ${rule === null ? 'none matches' : `${built_in ? 'the built-in one' : `${name === null ? '' : `${shown(name)}, `}number ${rule + 1} of the rules`} decides now`}`,
    ),
    ...data.deadlines.map(
      ({ rule, at, outcome, late_seconds: late }) =>
        `deadline   ${shownTime(at)} of rule ${shown(rule)}: ${outcome}${late === null ? '' : ` by ${durationWords(late * 1000, 'two units')}`}`,
    ),
    ...alerts.flatMap((one) => [
      `alert      ${shown(one.id)}, event ${one.seq} of it, ${one.state} since ${shownTime(one.state === 'resolved' ? one.endsAt : one.startsAt)}`,
      ...findingLines(one.findings),
    ]),
    ...(no_alert === null
      ? []
      : [`${alerts.length > 0 ? 'counted ' : 'no alert'}   ${shownSentence(no_alert)}`]),
    ...waiting.map((one) =>
      one.muted === null
        ? `waiting    for receiver ${shown(one.receiver)} until ${shownTime(one.next_flush)} in ${shown(one.group_key)}${one.unless_acknowledged ? ', unless it is over or acknowledged before' : ''}`
        : `muted      for receiver ${shown(one.receiver)} now: ${shown(one.muted)}`,
    ),
    ...notifications.flatMap((one) => [
      `notified   ${shown(one.receiver)} at ${shownTime(one.created_at)} as ${one.reason}${one.listed ? '' : ', counted but not listed'}: ${shown(one.group_key)}`,
      ...one.deliveries.map(deliveryLine),
    ]),
    ...suppressions.map(
      (one) =>
        `${one.notified_later ? 'put off    for' : 'suppressed for'} receiver ${shown(one.receiver)}: ${one.reason} ${shown(one.detail)}, decided ${shownTime(one.at)}`,
    ),
    ...data.actions.map(({ summary }) => `fly again  ${shownSentence(summary)}`),
    ...forwards.flatMap((one) => [
      `forwarded  to ${shown(one.receiver)}${one.deliveries.length > 0 ? '' : `: ${one.state.replace('_', ' ')}`}`,
      ...one.deliveries.map(deliveryLine),
    ]),
  ];
}

function deliveryLine(one: Delivery): string {
  const at = one.settled_at ?? one.next_attempt_at;
  const when = one.settled_at ? shownTime(at) : `next try ${shownTime(at)}`;
  const tries = howMany(one.attempts, 'try', 'tries');
  // Delivered ones may have an error too: some recipients of a mail may have been refused.
  const error = one.last_error ? `: ${shownList(one.last_error)}` : '';
  return `  by ${shownIntegration(one)}: ${one.state}, ${when}, ${tries} (${shown(one.id)})${error}`;
}
