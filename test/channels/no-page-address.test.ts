/** With the default address 127.0.0.1, readers of a message could not open the page. */
import { describe, expect, test } from 'vitest';
import { linksFrom } from '../../src/channels/integration-identity.ts';
import { digestView } from '../../src/channels/message/digest-view.ts';
import { CHANNELS } from '../../src/channels/registry.ts';
import { digestBody } from '../../src/channels/webhook/webhook-bodies.ts';
import { load, REGION } from '../config/load.ts';
import { digestNotification } from './digest-samples.ts';
import { alert, failedFlight, group, storm } from './sample-notifications.ts';

const RECEIVERS = `receivers:
  - name: default
    email_configs: [{ to: a@b.c, from: n@b.c, smarthost: "m.x:25" }]
    webhook_configs: [{ url: "https://x" }]
    slack_configs: [{ api_url: "https://x" }]
    msteamsv2_configs: [{ webhook_url: "https://x" }]
    pagerduty_configs: [{ routing_key: k }]
    alertmanager_configs: [{ url: "https://x" }]
`;
const SAMPLES = [
  group({ alerts: [alert({ events: [failedFlight(1)] })] }),
  group({ alerts: [alert(), alert({ id: 'b' })], firingTotal: 2 }),
  storm(),
];

/** What each channel sends for all samples, by its kind. */
async function sent(web: string): Promise<Map<string, string>> {
  const config = load(`${REGION}${web}${RECEIVERS}`);
  const bodies = new Map<string, string>();
  for (const integration of config.receivers[0]!.integrations) {
    const channel = CHANNELS.find(({ kind }) => kind === integration.kind)!;
    const address = linksFrom(integration, config.web);
    const previews = SAMPLES.map((one) => channel.preview(integration, one, address));
    bodies.set(integration.kind, (await Promise.all(previews)).map(({ text }) => text).join('\n'));
  }
  return bodies;
}

describe('without web.external_url', () => {
  test.each(['email', 'slack', 'msteamsv2', 'pagerduty'])('%s has no links', async (kind) => {
    const text = (await sent('')).get(kind)!;
    expect(text).not.toMatch(/127\.0\.0\.1|localhost|"\/alerts|Open nestwatch|Silence/);
    expect(text.length).toBeGreaterThan(200);
  });

  test('a mail says why, as text and as HTML', async () => {
    const mail = (await sent('')).get('email')!;
    expect(mail).toContain(
      'You get this because receiver ops of nestwatch gets the alerts that no more specific route matches. Links to nestwatch are missing because web.external_url is not set.',
    );
  });

  test('a digest has no links either, and says so', () => {
    const { links, footer } = digestView(digestNotification(), '');
    expect(links).toEqual([]);
    expect(footer).toContain('web.external_url');
    expect(digestView(digestNotification(), 'https://watch.example.com').footer).not.toContain(
      'external_url',
    );
  });

  test('programs get the address of this machine, which they may be able to reach', async () => {
    const bodies = await sent('');
    expect(bodies.get('webhook')).toContain('http://127.0.0.1:9465');
    expect(bodies.get('alertmanager')).toContain('http://127.0.0.1:9465/alerts');
    expect(JSON.stringify(digestBody(digestNotification(), 'http://127.0.0.1:9465'))).toContain('9465');
  });
});

test('with web.external_url all link to the page, even on this machine', async () => {
  for (const [kind, text] of await sent('web: { external_url: "http://127.0.0.1:9465" }\n')) {
    expect([kind, text.includes('http://127.0.0.1:9465')]).toEqual([kind, true]);
    expect(text).not.toContain('until web.external_url');
  }
});
