/**
 * What each service publishes about the messages that it accepts, in our own words. None of our messages may break
 * this, whatever it contains:
 *
 * - Slack: Block Kit's blocks and text objects, and an incoming webhook's own fields
 *   (docs.slack.dev/reference/block-kit);
 * - Adaptive Cards 1.4 (adaptivecards.io/schemas) and Teams' 28 kB;
 * - PagerDuty: Events API v2, trigger, acknowledge and resolve;
 * - CloudEvents 1.0, JSON format and the context attributes' types (sections 3.1 and 3.2 of its specification);
 * - Alertmanager: `postableAlerts` of API v2.
 *
 * Fields that are not published are refused here as well, so a misspelt field shows.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { pushedAlerts } from '../../src/channels/alertmanager/alertmanager-channel.ts';
import { incidentOf, pagerdutyEvent } from '../../src/channels/incident/pagerduty-channel.ts';
import { slackBody } from '../../src/channels/slack/slack-body.ts';
import { teamsBody } from '../../src/channels/teams/teams-channel.ts';
import { cloudEventBatches, digestEvent } from '../../src/channels/webhook/webhook-bodies.ts';
import { anyGroupNotification, anyText, LARGEST } from './any-notification.ts';
import { digestNotification } from './digest-samples.ts';
import { forward, NOW_US } from './sample-notifications.ts';

const URL = 'https://watch.example.com';

/**
 * Without halves of surrogate pairs, which are not text: JSON readers of several languages refuse the whole message
 * because of them.
 */
const text = (min: number, max: number) =>
  z
    .string()
    .min(min)
    .max(max)
    .refine((one) => one.isWellFormed(), 'half a surrogate pair');
const address = (max: number) =>
  text(1, max).refine((one) => /^https?:$/.test(globalThis.URL.parse(one)?.protocol ?? ''), 'no web address');
const instant = z.iso.datetime({ offset: true });

const slackText = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('plain_text'), text: text(1, 3_000), emoji: z.boolean().optional() }),
  z.strictObject({ type: z.literal('mrkdwn'), text: text(1, 3_000), verbatim: z.boolean().optional() }),
]);
const slackField = z.strictObject({
  type: z.literal('mrkdwn'),
  text: text(1, 2_000),
  verbatim: z.boolean().optional(),
});
const slackButton = z.strictObject({
  type: z.literal('button'),
  text: z.strictObject({ type: z.literal('plain_text'), text: text(1, 75), emoji: z.boolean() }),
  url: address(3_000),
  style: z.literal('primary').optional(),
});
const slack = z.strictObject({
  channel: text(1, 80).optional(),
  username: text(1, 80).optional(),
  icon_emoji: text(1, 100).optional(),
  icon_url: address(2_000).optional(),
  text: text(1, 40_000),
  mrkdwn: z.boolean(),
  link_names: z.boolean(),
  parse: z.enum(['none', 'full']),
  blocks: z
    .array(
      z.union([
        z.strictObject({
          type: z.literal('header'),
          text: z.strictObject({ type: z.literal('plain_text'), text: text(1, 150), emoji: z.boolean() }),
        }),
        z.strictObject({ type: z.literal('section'), text: slackText }),
        z.strictObject({ type: z.literal('section'), fields: z.array(slackField).min(1).max(10) }),
        z.strictObject({ type: z.literal('actions'), elements: z.array(slackButton).min(1).max(25) }),
        z.strictObject({ type: z.literal('context'), elements: z.array(slackText).min(1).max(10) }),
      ]),
    )
    .min(1)
    .max(50),
});

const teams = z.strictObject({
  type: z.literal('message'),
  attachments: z.tuple([
    z.strictObject({
      contentType: z.literal('application/vnd.microsoft.card.adaptive'),
      contentUrl: z.null(),
      content: z.strictObject({
        $schema: z.literal('http://adaptivecards.io/schemas/adaptive-card.json'),
        type: z.literal('AdaptiveCard'),
        version: z.literal('1.4'),
        // Only in Teams.
        msteams: z.strictObject({ width: z.literal('Full') }),
        fallbackText: text(1, 28_000),
        body: z.array(
          z.union([
            z.strictObject({
              type: z.literal('FactSet'),
              facts: z.array(z.strictObject({ title: text(1, 28_000), value: text(1, 28_000) })).min(1),
            }),
            z.strictObject({
              type: z.literal('RichTextBlock'),
              inlines: z.array(
                z.strictObject({
                  type: z.literal('TextRun'),
                  text: text(1, 28_000),
                  size: z.enum(['Default', 'Small', 'Medium', 'Large', 'ExtraLarge']).optional(),
                  weight: z.enum(['Default', 'Lighter', 'Bolder']).optional(),
                  color: z
                    .enum(['Default', 'Dark', 'Light', 'Accent', 'Good', 'Warning', 'Attention'])
                    .optional(),
                  fontType: z.enum(['Default', 'Monospace']).optional(),
                  isSubtle: z.boolean().optional(),
                }),
              ),
            }),
          ]),
        ),
        // Teams shows at most six.
        actions: z
          .array(
            z.strictObject({ type: z.literal('Action.OpenUrl'), title: text(1, 100), url: address(2_000) }),
          )
          .max(6),
      }),
    }),
  ]),
});

const pagerduty = z.strictObject({
  routing_key: text(1, 32),
  event_action: z.enum(['trigger', 'resolve']),
  dedup_key: text(1, 255),
  client: text(1, 255),
  client_url: address(2_048),
  payload: z.strictObject({
    summary: text(1, 1_024),
    source: text(1, 255),
    severity: z.enum(['critical', 'error', 'warning', 'info']),
    timestamp: instant,
    component: text(1, 255).optional(),
    group: text(1, 255).optional(),
    class: text(1, 255).optional(),
    custom_details: z.record(text(1, 255), z.union([text(0, 60_000), z.number(), z.array(text(0, 60_000))])),
  }),
  links: z.array(z.strictObject({ href: address(2_048), text: text(1, 255) })),
});

const pagerdutyShort = z.strictObject({
  routing_key: text(1, 32),
  event_action: z.enum(['acknowledge', 'resolve']),
  dedup_key: text(1, 255),
});

/** A context attribute's String: without control characters and noncharacters. */
const attribute = text(1, 4_000_000).refine((one) => !/[\p{Cc}\p{Noncharacter_Code_Point}]/u.test(one));
const cloudEvent = z.strictObject({
  specversion: z.literal('1.0'),
  id: attribute,
  source: attribute.refine((one) => globalThis.URL.canParse(one, URL), 'no URI reference'),
  type: attribute,
  subject: attribute.optional(),
  time: instant,
  datacontenttype: z.literal('application/json'),
  data: z.record(z.string(), z.json()),
});

const postableAlert = z.strictObject({
  labels: z.record(text(1, 100_000), text(1, 1_000_000)),
  annotations: z.record(text(1, 100_000), text(1, 1_000_000)),
  startsAt: instant,
  endsAt: instant,
  generatorURL: address(2_048),
});

const PLAIN = { channel: '', username: '', iconEmoji: '', iconUrl: '' };
const bytesOf = (body: unknown) => Buffer.byteLength(JSON.stringify(body));

/** Parses what would be sent, because JSON leaves out or changes some values. */
const sent = (body: unknown): unknown => JSON.parse(JSON.stringify(body));

const own = fc.record({ title: anyText, text: anyText }, { requiredKeys: [] });
const runs = { numRuns: 60 };

describe('whatever a notification is made of', () => {
  test('Slack accepts it [long]', () => {
    const style = { channel: '#ops', username: 'nestwatch', iconEmoji: ':bird:', iconUrl: '' };
    fc.assert(
      fc.property(anyGroupNotification, own, fc.array(anyText, { maxLength: 2 }), (group, texts, notes) => {
        slack.parse(sent(slackBody(group, URL, style, texts, notes)));
      }),
      runs,
    );
  });

  test('Teams accepts it, within 28 kB', () => {
    fc.assert(
      fc.property(anyGroupNotification, own, fc.array(anyText, { maxLength: 2 }), (group, texts, notes) => {
        const body = teamsBody(group, URL, texts, notes);
        teams.parse(sent(body));
        expect(bytesOf(body)).toBeLessThanOrEqual(28_000);
      }),
      runs,
    );
  });

  test('PagerDuty accepts it, within 512 kB', () => {
    const severity = fc.constantFrom(null, 'info' as const);
    fc.assert(
      fc.property(
        anyGroupNotification,
        severity,
        fc.option(anyText, { nil: undefined }),
        fc.array(anyText, { maxLength: 2 }),
        (group, fixed, description, notes) => {
          const style = { routingKey: 'k'.repeat(32), severity: fixed };
          const event = pagerdutyEvent(group, URL, style, description, notes);
          pagerduty.parse(sent(event));
          for (const bare of [{ acknowledged: true as const }, { alerts: [] }]) {
            const change = incidentOf({ ...group, ...bare }, style.routingKey);
            expect(pagerdutyShort.parse(sent(change)).dedup_key).toBe(event.dedup_key);
          }
          expect(bytesOf(event)).toBeLessThan(512_000);
        },
      ),
      runs,
    );
  });

  test.each(LARGEST.map((one, index) => [index, one] as const))(
    'Slack, Teams and PagerDuty accept the largest (%i) [long]',
    (_, notification) => {
      const whole = (body: unknown) => {
        expect(JSON.stringify(body)).not.toMatch(/\\ud[89a-f]/i);
        return sent(body);
      };
      slack.parse(whole(slackBody(notification, URL, PLAIN)));
      for (const texts of [{}, { title: '😀'.repeat(500), text: '😀\n'.repeat(50_000) }]) {
        const body = teamsBody(notification, URL, texts);
        teams.parse(whole(body));
        expect(bytesOf(body)).toBeLessThanOrEqual(28_000);
        // Hostile names are no mentions.
        expect(JSON.stringify(body.attachments[0].content)).not.toMatch(/"entities"/);
      }
      const style = { routingKey: 'k', severity: null };
      const event = pagerdutyEvent(notification, URL, style, '😀'.repeat(2_000));
      pagerduty.parse(whole(event));
      expect(bytesOf(event)).toBeLessThan(512_000);
    },
  );

  test('readers of CloudEvents accept it [long]', () => {
    fc.assert(
      fc.property(anyGroupNotification, anyText, anyText, (group, type, nestId) => {
        const events = group.alerts.flatMap((one) => one.events).slice(0, 100);
        const named = events.map((event) => ({ ...event, type, nestId }));
        const batches = [
          ...cloudEventBatches(group),
          ...(named.length > 0 ? cloudEventBatches(forward(named)) : []),
        ];
        for (const batch of batches) {
          z.array(cloudEvent).min(1).max(100).parse(sent(batch));
          expect(JSON.stringify(batch)).not.toMatch(/\\ud[89a-f]/i);
        }
      }),
      runs,
    );
  });

  test("Alertmanager's API v2 accepts it", () => {
    fc.assert(
      fc.property(anyGroupNotification, ({ alerts }) => {
        z.array(postableAlert).parse(sent(pushedAlerts(alerts, URL, NOW_US)));
      }),
      runs,
    );
  });

  test('Slack, Teams and readers of CloudEvents accept a digest of it [long]', () => {
    fc.assert(
      fc.property(anyText, fc.constantFrom(0, 1, 9, 10, 11, 60, 300), (name, count) => {
        const digest = digestNotification(name, count);
        slack.parse(sent(slackBody(digest, URL, PLAIN)));
        cloudEvent.parse(sent(digestEvent(digest)));
        const body = teamsBody(digest, URL);
        teams.parse(sent(body));
        expect(bytesOf(body)).toBeLessThanOrEqual(28_000);
      }),
      { numRuns: 30 },
    );
  });
});
