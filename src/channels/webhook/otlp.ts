/**
 * Ended Flights as traces, by OTLP over HTTP in JSON (https://opentelemetry.io/docs/specs/otlp): one trace with one span for
 * each. Its ids are made of the Flight's, so a Flight that is sent again is the same trace. Attributes are those of the
 * semantic conventions for CI/CD. The steps before the one that failed are not known, and have no spans.
 */
import { createHash } from 'node:crypto';
import type { Event } from '../../domain/alert/event.ts';
import { NestwatchError } from '../../errors.ts';
import { openAuthorizedTransport } from '../../http/authorized-transport.ts';
import { howMany } from '../../text/instant-words.ts';
import { plainText } from '../../text/plain-text.ts';
import { VERSION } from '../../version.ts';
import type { Outcome } from '../channel.ts';
import { objectIn, openSender, type PostIntegration } from '../post-channel.ts';

const RESULTS = new Map([
  ['flight.succeeded', 'success'],
  ['flight.failed', 'failure'],
  ['flight.cancelled', 'cancellation'],
]);
const SERVER = 2;
const ERROR = 2;
const MESSAGE_CODE_POINTS = 2_000;

/** A request of `ExportTraceServiceRequest` for each batch of events in which a Flight ended. */
export function traceMessages(batches: readonly (readonly Event[])[]) {
  const resource = { attributes: attributes({ 'service.name': 'nestwatch' }) };
  return batches.flatMap((batch) => {
    const spans = batch.flatMap((event) => spanOf(event) ?? []);
    if (spans.length === 0) return [];
    const traces = { resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'nestwatch' }, spans }] }] };
    return [
      { contentType: 'application/json', body: JSON.stringify(traces), judge: judgeTraces(spans.length) },
    ];
  });
}

function spanOf(event: Event) {
  const result = RESULTS.get(event.type);
  if (result === undefined) return undefined;
  const { region, nest, birdId, occurredAtUs, attributes: own } = event;
  const bird = event.bird || `Bird ${birdId}`;
  const flightId = String(own.flight_id ?? '');
  const seconds = typeof own.duration_seconds === 'number' ? own.duration_seconds : 0;
  const startUs =
    typeof own.started_at_us === 'number' ? own.started_at_us : occurredAtUs - Math.round(seconds * 1e6);
  const message = plainText(event.message, MESSAGE_CODE_POINTS);
  const hash = createHash('sha256').update(`${region}/${flightId}`).digest('hex');
  const isFailed = result === 'failure';
  return {
    traceId: hash.slice(0, 32),
    spanId: hash.slice(32, 48),
    name: `RUN ${bird.toWellFormed()}`,
    kind: SERVER,
    startTimeUnixNano: nanoseconds(Math.min(startUs, occurredAtUs)),
    endTimeUnixNano: nanoseconds(occurredAtUs),
    attributes: attributes({
      'cicd.pipeline.name': bird,
      'cicd.pipeline.run.id': flightId,
      'cicd.pipeline.result': result,
      'error.type': isFailed ? String(own.error_type ?? '') || '_OTHER' : '',
      'nestwatch.region': region,
      'nestwatch.nest': nest,
      'nestwatch.bird_id': birdId,
      'nestwatch.step': String(own.scope ?? own.step_id ?? ''),
    }),
    ...(isFailed && { status: { code: ERROR, message } }),
  };
}

const nanoseconds = (us: number) => `${Math.round(us)}000`;

/** Those that have a value. */
function attributes(values: Readonly<Record<string, string>>) {
  return Object.entries(values)
    .filter(([, value]) => value !== '')
    .map(([key, value]) => ({ key, value: { stringValue: value.toWellFormed() } }));
}

/**
 * A collector may accept a part. It does not say which, and must not be sent the same again. A page for people, such as a
 * proxy's that asks for a login, is the answer of something else.
 */
const judgeTraces =
  (spans: number) =>
  (body: string): Outcome => {
    if (/^\s*</.test(body)) {
      const error = 'HTTP 200 with a page for people, which no collector sends';
      return { kind: 'failed', reason: 'rejected', error };
    }
    const { rejectedSpans = 0, errorMessage = '' } = Object(objectIn(body).partialSuccess);
    if (!(Number(rejectedSpans) > 0)) return { kind: 'accepted' };
    const why = plainText(String(errorMessage), MESSAGE_CODE_POINTS) || 'the collector does not say why';
    if (Number(rejectedSpans) >= spans)
      return { kind: 'refused', reason: 'rejected', error: `it rejected every span: ${why}`, isFinal: true };
    const recipient = howMany(Number(rejectedSpans), 'span');
    return { kind: 'accepted', leftOut: [{ recipient, why }] };
  };

/** A collector accepts a request without spans, and answers one that comes to a wrong path or without rights. */
export async function probeCollector(integration: PostIntegration): Promise<void> {
  // A token that was just made has not expired.
  const clock = { nowUs: () => 0 };
  const sender = openSender({ clock, version: VERSION, openTransport: openAuthorizedTransport });
  const url = integration.url.reveal();
  try {
    const body = JSON.stringify({ resourceSpans: [] });
    const outcome = await sender.post({
      ...{ url, contentType: 'application/json', body, integration },
      judge: judgeTraces(0),
    });
    if (!('error' in outcome)) return;
    throw new NestwatchError('rejected', `${new URL(url).pathname} answered ${outcome.error}`);
  } finally {
    await sender.close();
  }
}
