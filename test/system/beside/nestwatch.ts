/** Plays a story to nestwatch's alerting and delivery, on a virtual clock. */
import { randomUUID } from 'node:crypto';
import { createAlerting } from '../../../src/alerting/alerting.ts';
import { openWebhooks } from '../../../src/channels/webhook/webhook-channel.ts';
import { createDelivery } from '../../../src/delivery/outbox.ts';
import type { Alert, Labels } from '../../../src/domain/alert/alert.ts';
import { parseMatchers } from '../../../src/domain/matchers/matcher.ts';
import type { Silence } from '../../../src/domain/muting/silence.ts';
import type { HttpRequest, HttpResponse } from '../../../src/http/transport.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { load, REGION } from '../../config/load.ts';
import { createVirtualClock } from '../../virtual-clock.ts';
import { configOf, type Heard, heard, type SilenceMatcher, type Step, type Story } from './story.ts';

export async function playToNestwatch(story: Story): Promise<Heard[]> {
  const clock = createVirtualClock();
  const beganUs = clock.nowUs();
  const store = await openSqliteStore({ path: ':memory:', clock });
  const config = load(`${REGION}${configOf(story, 9)}`);
  const calls: Heard[] = [];
  async function send({ url, body }: HttpRequest): Promise<HttpResponse> {
    const receiver = new URL(url).pathname.slice(1);
    calls.push(heard(receiver, (clock.nowUs() - beganUs) / 1e6, body ?? ''));
    return { status: 200, headers: {}, body: '' };
  }
  const unused = { send: () => Promise.reject(new Error('only webhooks here')), close: async () => {} };
  const webhook = openWebhooks({
    clock,
    version: 'story',
    openTransport: () => ({ send, close: async () => {} }),
  });
  const delivery = createDelivery({
    store,
    receivers: config.receivers,
    channels: { webhook, email: unused },
    clock,
    random: () => 0.5,
    report: () => {},
    externalUrl: 'http://nestwatch.example',
  });
  const alerting = createAlerting({
    store,
    config,
    clock,
    report(happening) {
      if (happening.what === 'trouble') throw happening.error;
    },
    queued: delivery.wake,
  });
  const stop = new AbortController();
  const running = [alerting.run(stop.signal), delivery.run(stop.signal)];
  const known = new Map<string, Alert>();

  async function take(step: Step): Promise<void> {
    const nowUs = clock.nowUs();
    await store.transaction(async (tx) => {
      const alerts = [
        ...(step.fire ?? []).map((labels) => firing(known.get(JSON.stringify(labels)), labels, nowUs)),
        ...(step.resolve ?? []).map((labels) => resolved(known.get(JSON.stringify(labels)), labels, nowUs)),
      ];
      for (const alert of alerts) known.set(alert.id, alert);
      await tx.alerts.put(alerts);
      const present = await tx.silences.list(nowUs);
      if (step.silence) await tx.silences.put([silenceOf(step.silence, nowUs)]);
      if (step.expire) await tx.silences.put(present.map((silence) => ({ ...silence, endsAtUs: nowUs })));
    });
    alerting.wake();
  }

  for (const step of story.steps) {
    await clock.advance((beganUs - clock.nowUs()) / 1000 + step.at * 1000);
    await take(step);
  }
  await clock.advance((beganUs - clock.nowUs()) / 1000 + story.lasts * 1000);
  stop.abort();
  await clock.advance(0);
  await Promise.all(running);
  await webhook.close();
  await store.close();
  return calls;
}

function silenceOf(matchers: readonly SilenceMatcher[], nowUs: number): Silence {
  return {
    id: randomUUID(),
    matchers: matchers.flatMap(({ name, value, isRegex, isEqual }) =>
      parseMatchers(
        `${name}${isEqual ? (isRegex ? '=~' : '=') : isRegex ? '!~' : '!='}${JSON.stringify(value)}`,
      ),
    ),
    startsAtUs: nowUs,
    endsAtUs: nowUs + 3_600_000_000,
    updatedAtUs: nowUs,
    createdBy: 'story',
    comment: 'story',
    recurrence: null,
    alertId: null,
    alertStartsAtUs: null,
  };
}

function firing(known: Alert | undefined, labels: Labels, nowUs: number): Alert {
  if (known?.state === 'firing') return known;
  const alertname = labels.alertname ?? '';
  return {
    id: JSON.stringify(labels),
    scope: 'story',
    rule: 'r1',
    subject: 's',
    firstRule: 'r1',
    alertname,
    state: 'firing',
    labels,
    annotations: {},
    startsAtUs: nowUs,
    endsAtUs: 0,
    updatedAtUs: nowUs,
    eventsTotal: 0,
    lastSeq: 0,
    memory: null,
    dueAtUs: null,
  };
}

function resolved(known: Alert | undefined, labels: Labels, nowUs: number): Alert {
  return { ...firing(known, labels, nowUs), state: 'resolved', endsAtUs: nowUs, updatedAtUs: nowUs };
}
