/** Tells of what an id names: the way of an event from the service to the receivers, or the page about it. */
import { spawn } from 'node:child_process';
import { NestwatchError } from '../../errors.ts';
import type { Reference } from '../../operator/find-reference.ts';
import type { Edge } from '../../process-io.ts';
import { durationWords } from '../../text/instant-words.ts';
import type { explanationJson } from '../../web/api/alert-json.ts';
import type { Answer } from '../command-rows.ts';
import { askDaemon, daemonJson, daemonUrl, type PrintOptions, refusalIn } from '../daemon-client.ts';
import { factText, shown, shownTime } from '../terminal-text.ts';
import {
  alertsShow,
  birdsShow,
  deliveriesShow,
  deliveryLine,
  findingLines,
  flightsShow,
} from './show-one.ts';

type Explanation = ReturnType<typeof explanationJson>;

/**
 * The answer if there is no event: the id is unknown, or what it names has no event, such as an alert about the watch
 * itself.
 */
interface NoEvent {
  readonly error: string;
  readonly meant?: Reference;
}

/** Explains an event. If what is named has no event, everything known about it is shown instead. */
export async function explain(edge: Edge, key: string, options: PrintOptions): Promise<Answer> {
  const path = `/api/v1/events/${encodeURIComponent(key)}/explain`;
  const request = { path, alsoAnswers: 404 } as const;
  const answer = await daemonJson<Explanation | NoEvent>(edge, options, request, 'seen');
  if ('error' in answer) return showWhatIsKnown(edge, answer, options);
  return { json: answer, text: factText(edge, linesOf(answer, edge.clock.nowUs())) };
}

async function showWhatIsKnown(
  edge: Edge,
  { error, meant }: NoEvent,
  options: PrintOptions,
): Promise<Answer> {
  const about = shown(error);
  if (!meant || meant.kind === 'event' || meant.kind === 'silence') throw new NestwatchError('usage', about);
  const { kind, id } = meant;
  edge.stderr.write(`nestwatch: ${about} This is what is known of it.\n`);
  if (kind === 'alert') return alertsShow(edge, id, options);
  if (kind === 'delivery') return deliveriesShow(edge, id, options);
  if (kind === 'flight') return flightsShow(edge, id, { ...options, log: false });
  return birdsShow(edge, id, [`region=${meant.region}`], options);
}

function linesOf(data: Explanation, nowUs: number): string[] {
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
    ...(no_alert === null ? [] : [`${alerts.length > 0 ? 'counted ' : 'no alert'}   ${shown(no_alert)}`]),
    ...waiting.map((one) =>
      one.muted === null
        ? `waiting    for receiver ${shown(one.receiver)} until ${shownTime(one.next_flush)} in ${shown(one.group_key)}${one.unless_acknowledged ? ', unless it is over or acknowledged before' : ''}`
        : `muted      for receiver ${shown(one.receiver)} now: ${shown(one.muted)}`,
    ),
    ...notifications.flatMap((one) => [
      `notified   ${shown(one.receiver)} at ${shownTime(one.created_at)} as ${one.reason}${one.listed ? '' : ', counted but not listed'}: ${shown(one.group_key)}`,
      ...one.deliveries.map((delivery) => deliveryLine(delivery, nowUs)),
    ]),
    ...suppressions.map(
      (one) =>
        `${one.notified_later ? 'put off    for' : 'suppressed for'} receiver ${shown(one.receiver)}: ${one.reason} ${shown(one.detail)}, decided ${shownTime(one.at)}`,
    ),
    ...data.actions.map(({ summary }) => `fly again  ${shown(summary)}`),
    ...forwards.flatMap((one) => [
      `forwarded  to ${shown(one.receiver)}${one.deliveries.length > 0 ? '' : `: ${one.state.replace('_', ' ')}`}`,
      ...one.deliveries.map((delivery) => deliveryLine(delivery, nowUs)),
    ]),
  ];
}

const OPEN_TIMEOUT_MS = 30_000;

/** Prints the address of the page about an id, a name or a link, and opens it if somebody sits at a terminal. */
export async function open(edge: Edge, id: string, options: PrintOptions): Promise<Answer> {
  const path = `/search?${new URLSearchParams({ text: id })}`;
  const answer = await askDaemon(edge, options, { path }, OPEN_TIMEOUT_MS);
  const { status, headers } = answer;
  // Where pages are, a refusal is text.
  if (status !== 200 && status !== 303)
    throw refusalIn({ ...answer, body: JSON.stringify(answer.body) }, options);
  const found = status === 303 ? String(headers.location ?? '') : '';
  if (found === '')
    throw new NestwatchError(
      'usage',
      `nothing is known under ${shown(id)}: \`nestwatch open\` takes what \`explain\` takes`,
    );
  const url = new URL(found, `${daemonUrl(edge, options)}/search`).href;
  // A machine without a browser has the address.
  if (edge.stdout.isTTY && !options.json)
    spawn(process.platform === 'darwin' ? 'open' : 'xdg-open', [url], { detached: true, stdio: 'ignore' })
      .on('error', () => {})
      .unref();
  return { json: { url }, text: `${url}\n` };
}
