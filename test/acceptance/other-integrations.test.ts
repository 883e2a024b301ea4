/** Pending messages while the integrations of their receiver change: each is sent where it was meant to go, once. */
import { describe, expect, test } from 'vitest';
import type { Integration } from '../../src/channels/receiver.ts';
import type { WebhookIntegration } from '../../src/channels/webhook/webhook-channel.ts';
import type { Config } from '../../src/config/config.ts';
import { secret } from '../../src/secret.ts';
import { email } from '../channels/sample-notifications.ts';
import { createStage, type Stage } from './stage.ts';

let stage: Stage;
let down: readonly string[] = [];

const hook = (path: string): WebhookIntegration => ({
  kind: 'webhook',
  url: secret(`http://hook.example/${path}`),
  format: 'alertmanager',
  secret: null,
  timeoutMs: 10_000,
  sendResolved: true,
  maxAlerts: 0,
});

/** A configuration in which `ops` has webhooks at these paths, after whatever else is given. */
const having =
  (paths: readonly string[], before: readonly Integration[] = []) =>
  (config: Config): Config => ({
    ...config,
    receivers: config.receivers.map((one) =>
      one.name === 'ops' ? { ...one, integrations: [...before, ...paths.map(hook)] } : one,
    ),
  });

/** A Flight has failed, and each of these webhooks refuses its message for now. */
async function failedWhile(refusing: readonly string[], paths: readonly string[]): Promise<void> {
  down = refusing;
  stage = await createStage({
    regions: ['eu'],
    forward: [],
    nests: { Marketing: ['Translate blog'] },
    answer: ({ url }) => (down.includes(url.slice('http://hook.example/'.length)) ? 503 : 200),
  });
  await stage.follows(having(paths));
  await stage.minutesPass(2);
  stage.eu.startFlight(stage.bird('Translate blog'), { endsAs: 'failed', fliesForMs: 1_000 });
  await stage.minutesPass(3);
}

/** Whom the failure reached, once for each time. */
const heard = () =>
  stage.calls
    .filter(({ body }) => body.includes('FlightFailed'))
    .map(({ url }) => url.slice('http://hook.example/'.length))
    .toSorted();

async function everybodyAnswers(): Promise<void> {
  down = [];
  await stage.minutesPass(20);
}

describe('a message that waits for a webhook', () => {
  test('goes to nobody else once that is removed [long]', async () => {
    await failedWhile(['a'], ['a', 'b']);
    expect(heard()).toEqual(['b']);
    await stage.follows(having(['b']));
    await everybodyAnswers();
    expect(heard()).toEqual(['b']);
  });

  test('still goes there if a new mail is listed before it [long]', async () => {
    await failedWhile(['a', 'b'], ['a', 'b']);
    await stage.follows(having(['a', 'b'], [email()]));
    await everybodyAnswers();
    expect(heard()).toEqual(['a', 'b']);
  });

  test('still goes there when the order changes [long]', async () => {
    await failedWhile(['a', 'b'], ['a', 'b']);
    await stage.follows(having(['b', 'a']));
    await everybodyAnswers();
    expect(heard()).toEqual(['a', 'b']);
  });

  test("goes to the webhook's new address [long]", async () => {
    await failedWhile(['a', 'b'], ['a', 'b']);
    await stage.follows(having(['b', 'new'], [email()]));
    await everybodyAnswers();
    expect(heard()).toEqual(['b', 'new']);
  });

  test('still goes there after a restart with another configuration [long]', async () => {
    await failedWhile(['a', 'b'], ['a', 'b', 'c']);
    await stage.follows(having(['c', 'b']));
    await stage.restart();
    await everybodyAnswers();
    expect(heard()).toEqual(['b', 'c']);
  });
});
