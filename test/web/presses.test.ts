/** What the page does with presses of buttons in Slack, beyond the story in `acceptance/slack-buttons.test.ts`. */
import { expect, test } from 'vitest';
import type { Outcome } from '../../src/channels/channel.ts';
import { slackBody } from '../../src/channels/slack/slack-body.ts';
import { buttonValues } from '../../src/channels/slack/slack-buttons.ts';
import type { SlackIntegration } from '../../src/channels/slack/slack-channel.ts';
import { createSlackPresses } from '../../src/channels/slack/slack-press.ts';
import { formatMatcher } from '../../src/domain/matchers/matcher.ts';
import { ended } from '../../src/domain/muting/silence-change.ts';
import { LIMITS } from '../../src/limits.ts';
import type { Store } from '../../src/store/store.ts';
import { group, alert as notified } from '../channels/sample-notifications.ts';
import { pressBody, SIGNING_SECRET, signatureOf, TEAM } from '../channels/slack/simulated-slack.ts';
import { load, REGION } from '../config/load.ts';
import { anAlert, anAlertingConfig, putAlert } from './sample.ts';
import { serve } from './served.ts';

const RESPONSE_URL = 'https://hooks.slack.com/actions/T01/1/1';
const PATH = '/slack/interactivity';

async function pressed(
  fly: boolean,
  outcome: Outcome = { kind: 'accepted' },
  labels: Readonly<Record<string, string>> = notified().labels,
) {
  const { receivers } = load(`${REGION}web: { external_url: "https://watch.example.com" }
route: { receiver: ops }
receivers:
  - name: ops
    slack_configs: [{ app_token: x, channel: C01, signing_secret: ${SIGNING_SECRET}, team_id: ${TEAM}, scopes: [write, fly] }]`);
  const hints: unknown[] = [];
  const openPresses = () =>
    createSlackPresses(receivers, async (_, _url, message) => {
      hints.push((message as { text: unknown }).text);
      return outcome;
    });
  const alerting = anAlertingConfig({ regions: [{ name: 'eu', ...(fly && { fly }) }] });
  const served = await serve({ presses: openPresses(), alerting });
  const { store, clock } = served;
  const replica = await serve({ presses: openPresses(), alerting, store, clock });
  const { id } = notified();
  const firing = anAlert({ id, labels });
  await putAlert(served.store, firing);
  const slack = receivers[0]!.integrations[0] as SlackIntegration;
  const told = group({
    alerts: [
      notified({
        startsAtUs: firing.startsAtUs,
        flyAgain: 'f1',
        acknowledgeUrl: 'https://watch.example.com/a',
      }),
    ],
    firingTotal: 1,
  });
  const values = buttonValues(slack.buttons!, slack.channel, told);
  const { text, blocks } = slackBody(told, 'https://watch.example.com', slack, {}, [], undefined, values);
  return {
    ...{ ...served, hints, firing, replica },
    press(button: string, at = served) {
      const body = pressBody({ channel: 'C01', ts: '1.2', text, blocks }, button, RESPONSE_URL);
      return at.ask(PATH, headersOf(String(clock.nowUs() / 1e6), body), 'POST', body);
    },
  };
}

function headersOf(timestamp: string, body: string) {
  return {
    'content-type': 'application/x-www-form-urlencoded',
    'x-slack-request-timestamp': timestamp,
    'x-slack-signature': signatureOf(timestamp, body),
  };
}

async function putBird(store: Store, triggerType: string) {
  const place = { region: 'eu', nestId: '682', birdId: '148890', name: 'Translate blog' };
  await store.transaction((tx) =>
    tx.inventory.putBirds([{ ...place, triggerType, status: 'active', statusSinceUs: 0, present: true }]),
  );
}

test('without buttons in the configuration nobody is listened to', async () => {
  const { ask, clock } = await serve();
  const body = 'payload=%7B%7D';
  const answer = await ask(PATH, headersOf(String(clock.nowUs() / 1e6), body), 'POST', body);
  expect(answer.status).toBe(403);
  expect((await ask(PATH)).status).toBe(404);
});

test('a body that is too large is not read [long]', async () => {
  const { ask } = await pressed(true);
  const body = 'x'.repeat(LIMITS.request_bytes.most + 1);
  expect((await ask(PATH, headersOf('1', body), 'POST', body)).status).toBe(413);
});

test.each([
  [false, 'manual', 'Nothing is started in eu: set `regions.eu.fly: true` to allow it.'],
  [true, 'scheduled', 'Scheduled Birds cannot be started from outside: use Fly again in the service.'],
  [true, undefined, 'No such Bird is known.'],
])(
  'Fly again that cannot be (%s, %s) says why to who pressed, and nothing is wanted [long]',
  async (fly, trigger, why) => {
    const { press, hints, store } = await pressed(fly);
    if (trigger) await putBird(store, trigger);
    expect((await press('Fly again')).status).toBe(200);
    expect(hints).toEqual([why]);
    const { writes } = await store.transaction((tx) => tx.writes.page({ limit: 10 }));
    expect(writes.map(({ who, status }) => [who, status])).toEqual([['ann (Slack U01)', 409]]);
    expect(await store.transaction((tx) => tx.actions.ofBird('eu', '148890', 9))).toEqual([]);
  },
);

test('two people who have to approve a start do not do it in Slack, where one may have a second name', async () => {
  const { press, hints, store, clock, firing } = await pressed(true);
  const place = { region: 'eu', nestId: '682', nest: 'Marketing', birdId: '148890', bird: 'Translate blog' };
  const plan = { alertId: firing.id, alertStartsAtUs: firing.startsAtUs, dueAtUs: 0, attempt: 1, atMost: 2 };
  await putBird(store, 'manual');
  await store.transaction((tx) =>
    tx.actions.add({
      ...{
        ...place,
        id: 'p',
        name: 'fly_again',
        state: 'proposed',
        by: [],
        rule: 'twice',
        comment: '',
        reason: '',
      },
      ...{ failedFlightId: '', wantedAtUs: clock.nowUs(), askedAtUs: 0, settledAtUs: 0 },
      plan: { ...plan, approvals: 2, isDryRun: false },
    }),
  );
  await press('Fly again');
  expect(hints).toEqual(['Two people have to approve this, each logged in by their own name.']);
  expect(await store.transaction((tx) => tx.actions.find('p'))).toMatchObject({ state: 'proposed', by: [] });
});

test('a Flight that failed and was flown again elsewhere is not flown again in Slack, which says when it was', async () => {
  const { press, hints, store, clock } = await pressed(true);
  const place = { region: 'eu', nestId: '682', nest: 'Marketing', birdId: '148890', bird: 'Translate blog' };
  await putBird(store, 'manual');
  await store.transaction((tx) =>
    tx.actions.add({
      ...{ ...place, id: 'p', name: 'fly_again', state: 'done', by: ['Bob'], rule: '', comment: '' },
      ...{ reason: '', failedFlightId: 'f1', wantedAtUs: 1, askedAtUs: clock.nowUs(), settledAtUs: 1 },
    }),
  );
  await press('Fly again');
  expect(hints).toEqual([expect.stringMatching(/^Nothing was started\. Flown again at .* by Bob\./)]);
  expect(await store.transaction((tx) => tx.actions.ofBird('eu', '148890', 9))).toHaveLength(1);
});

test('a request that somebody repeats to another replica does nothing, also when what it did is over', async () => {
  const { press, replica, hints, store, clock } = await pressed(true);
  await putBird(store, 'manual');
  for (const button of ['Acknowledge', 'Silence for 2 h', 'Fly again']) {
    const done = () =>
      store.transaction(async (tx) => [
        ...(await tx.silences.list()),
        ...(await tx.actions.ofBird('eu', '148890', 9)),
      ]);
    expect((await press(button)).status).toBe(200);
    await store.transaction(async (tx) => {
      const silences = await tx.silences.list();
      await tx.silences.put(silences.flatMap((one) => ended(one, clock.nowUs())));
      const actions = await tx.actions.ofBird('eu', '148890', 9);
      await tx.actions.put(actions.map((one) => ({ ...one, state: 'refused' })));
    });
    const before = await done();
    expect((await press(button, replica)).status).toBe(200);
    expect(await done(), button).toEqual(before);
  }
  expect(hints.filter((said) => said === 'This was done before.')).toHaveLength(2);
  expect(await store.transaction((tx) => tx.actions.ofBird('eu', '148890', 9))).toHaveLength(1);
});

test('a silence of an alert about the watch itself mutes only that impairment', async () => {
  const labels = { alertname: 'WatchImpaired', severity: 'warning', region: 'eu', reason: 'clock_wrong' };
  const { press, hints, store } = await pressed(true, undefined, labels);
  await press('Silence for 2 h');
  const [silence] = await store.transaction((tx) => tx.silences.list());
  expect(silence!.matchers.map(formatMatcher)).toEqual([
    ...['alertname="WatchImpaired"', 'region="eu"', 'reason="clock_wrong"'],
  ]);
  expect(hints).toHaveLength(1);
});

test('what was done stays done, and the log says so, if Slack does not show it', async () => {
  const refusal = { kind: 'refused', reason: 'rejected', error: 'HTTP 404: expired_url' } as const;
  const { press, reported, store } = await pressed(true, refusal);
  expect((await press('Acknowledge')).status).toBe(200);
  expect((await store.transaction((tx) => tx.silences.list())).map(({ createdBy }) => createdBy)).toEqual([
    'ann (Slack U01)',
  ]);
  await expect
    .poll(() => reported.flatMap((one) => (one.what === 'trouble' ? [String(one.error)] : [])))
    .toEqual([expect.stringContaining('Slack does not show what came of a button: HTTP 404: expired_url')]);
});
