import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ENDS_AFTER_US, pushedAlerts } from '../../src/channels/alertmanager/alertmanager-channel.ts';
import { PAGERDUTY_LIMITS, pagerdutyEvent } from '../../src/channels/incident/pagerduty-channel.ts';
import { alertmanagerBody } from '../../src/channels/message/alertmanager-body.ts';
import { escapedWithin, listWithin, within } from '../../src/channels/message/bounded.ts';
import { templateVariables } from '../../src/channels/message/render-texts.ts';
import { type Block, escapeSlack, SLACK_LIMITS, slackBody } from '../../src/channels/slack/slack-body.ts';
import { TEAMS_MAX_BYTES, teamsBody } from '../../src/channels/teams/teams-channel.ts';
import { signature } from '../../src/domain/alert/error-signature.ts';
import type { GroupNotification } from '../../src/domain/grouping/notification.ts';
import { SAMPLE_VARIABLES } from '../../src/templates/variables.ts';
import { formatInstant } from '../../src/time/instant.ts';
import { WORDS } from '../domain/kinds/kind-words.ts';
import { HOSTILE, LONG, saying } from './any-notification.ts';
import { alert, group, MINUTE_US, NOW_US } from './sample-notifications.ts';

const URL = 'https://watch.example.com';
const PLAIN = { channel: '', username: '', iconEmoji: '', iconUrl: '' };
const KEY = { routingKey: 'k', severity: null };

function textsOf(block: Block): string[] {
  if (block.type === 'context') return block.elements.map(({ text }) => text);
  if (block.type === 'actions') return block.elements.map(({ text }) => text.text);
  return 'fields' in block ? block.fields.map(({ text }) => text) : [block.text.text];
}

describe('Slack', () => {
  const body = (notification: GroupNotification, texts = {}) => slackBody(notification, URL, PLAIN, texts);

  test('says state and subject, then where, since when and how long, then what was said', () => {
    const { text, blocks, ...rest } = slackBody(group(), URL, {
      ...PLAIN,
      channel: '#ops',
      username: 'watch',
    });
    expect(text).toBe('✕ Translate blog failed · EU Marketing');
    expect(rest).toEqual({
      channel: '#ops',
      username: 'watch',
      mrkdwn: false,
      link_names: false,
      parse: 'none',
    });
    expect(blocks.flatMap(textsOf).slice(0, 3)).toEqual([
      '🔴 Translate blog failed',
      'EU · Marketing · since 2 Jul 2026, 11:56 UTC, for 4 min',
      '```\nTranslation failed: the provider answered 429 Too Many Requests\n```',
    ]);
    expect(blocks.filter((block) => 'fields' in block).flatMap(textsOf)).toContain('Nest: Marketing (682)');
    expect(blocks.at(-1)).toMatchObject({
      type: 'actions',
      elements: [
        {
          text: { text: 'See it in nestwatch' },
          url: 'https://watch.example.com/alerts/FlightFailed/93f7e433/eu/bird/148890',
          style: 'primary',
        },
        { text: { text: 'Silence' } },
      ],
    });
  });

  test.each(HOSTILE)('nothing in it is markup: %j', (text) => {
    const notification = saying(text);
    const { blocks, text: fallback } = body(notification);
    for (const block of blocks) {
      if (block.type === 'header') continue;
      for (const one of textsOf(block)) {
        // Only our own links are in angle brackets, and code ends where we end it.
        expect(
          one.replaceAll(
            /<https:\/\/(?:watch|evil)\.example[^|<>]*\|(?:See it in nestwatch|Silence|Runbook)>/g,
            '',
          ),
        ).not.toMatch(/[<>]/);
        expect(one.split('```').length).toBeOneOf([1, 3]);
      }
    }
    expect(fallback).not.toMatch(/[<>]/);
  });

  test.each([
    [SLACK_LIMITS.header - 1, false],
    [SLACK_LIMITS.header, false],
    [SLACK_LIMITS.header + 1, true],
  ])('a title of %i characters is cut: %s', (length, isCut) => {
    const [header] = body(group(), { title: 'x'.repeat(length) }).blocks;
    expect(textsOf(header!)[0]!.endsWith('…')).toBe(isCut);
    expect(textsOf(header!)[0]).toHaveLength(Math.min(length, SLACK_LIMITS.header));
  });

  test.each([
    [SLACK_LIMITS.section - 1, 1],
    [SLACK_LIMITS.section, 1],
    [SLACK_LIMITS.section + 1, 2],
    [40_001, 14],
  ])('a text of %i characters takes %i sections', (length, sections) => {
    const { blocks } = body(group(), { text: 'y'.repeat(length) });
    expect(blocks.filter(({ type }) => type === 'section')).toHaveLength(sections);
  });

  test('a text that is too long ends with how many parts are missing', () => {
    const shown = (length: number) => JSON.stringify(body(group(), { text: 'y'.repeat(length) }));
    expect(shown(48_000)).not.toContain('more parts');
    const missing = /… and (\d+) more parts/.exec(shown(300_000))?.[1];
    expect(shown(300_000).match(/y{3000}/g)).toHaveLength(100 - Number(missing));
  });

  test('a custom text is cut between words, never inside an escape or a pair', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('&amp;', '😀', 'word ', '\n', 'x'), { maxLength: 3_000, size: 'max' }),
        (parts) => {
          const text = parts.join('');
          const { blocks } = body(group(), { text: 'x'.repeat(2_990) + text });
          const sections = blocks.filter(({ type }) => type === 'section').flatMap(textsOf);
          for (const one of sections) {
            expect(one.isWellFormed()).toBe(true);
            expect(one.length).toBeLessThanOrEqual(SLACK_LIMITS.section);
            expect(one.replaceAll('&amp;', '')).not.toMatch(/&|amp/);
          }
        },
      ),
      { numRuns: 50 },
    );
  });
});

describe('Teams', () => {
  test('is one card of texts without Markdown', () => {
    const [{ content, contentType }] = teamsBody(group(), URL).attachments;
    expect(contentType).toBe('application/vnd.microsoft.card.adaptive');
    expect(content).toMatchObject({
      type: 'AdaptiveCard',
      version: '1.4',
      fallbackText: 'Translate blog failed',
    });
    const texts = content.body.map((block) =>
      'inlines' in block ? block.inlines.map(({ text }) => text).join('') : '',
    );
    expect(texts.slice(0, 3)).toEqual([
      'Translate blog failed',
      'EU · Marketing · since 2 Jul 2026, 11:56 UTC, for 4 min',
      'Translation failed: the provider answered 429 Too Many Requests',
    ]);
    expect(content.actions).toMatchObject([
      {
        type: 'Action.OpenUrl',
        title: 'See it in nestwatch',
        url: `${URL}/alerts/FlightFailed/93f7e433/eu/bird/148890`,
      },
      { title: 'Silence', url: `${URL}/silence?alert=FlightFailed/93f7e433/eu/bird/148890` },
    ]);
    expect(content.body[0]).toMatchObject({ inlines: [{ color: 'Attention', size: 'Large' }] });
  });

  test('has room for its longest title and links beside a text that fills it', () => {
    const alerts = [1, 2, 3].map((number) => {
      const runbook_url = `https://wiki.example.com/${number}/`.padEnd(500, 'x');
      return alert({ annotations: { runbook_url } });
    });
    for (let length = 100; length < 140; length += 1) {
      const text = `${'x'.repeat(length)}\n`.repeat(500);
      const body = teamsBody(group({ alerts }), URL, { title: '語'.repeat(400), text });
      expect(body.attachments[0].content.actions).toHaveLength(5);
      expect(Buffer.byteLength(JSON.stringify(body))).toBeLessThanOrEqual(TEAMS_MAX_BYTES);
    }
  });

  test('sets out as facts what cannot be Markdown, and as text what could', () => {
    const labels = { ...alert().labels, nest: '[here](https://evil.example)' };
    const { body } = teamsBody(group({ alerts: [alert({ labels })] }), URL).attachments[0].content;
    const facts = body.flatMap((block) => ('facts' in block ? block.facts : []));
    expect(facts).toContainEqual({ title: 'Bird', value: 'Translate blog (148890)' });
    expect(JSON.stringify(facts)).not.toContain('evil');
    expect(body).toContainEqual(
      expect.objectContaining({
        inlines: [
          expect.objectContaining({ text: 'Nest: ' }),
          expect.objectContaining({ text: '[here](https://evil.example) (682)' }),
        ],
      }),
    );
  });

  test('says how much is omitted', () => {
    const { body } = teamsBody(group(), URL, { text: 'line of text\n'.repeat(5_000) }).attachments[0].content;
    expect(body.at(-1)).toMatchObject({
      inlines: [{ text: expect.stringMatching(/^… and 4\d{3} more lines/) }],
    });
  });
});

describe('PagerDuty', () => {
  test('triggers an incident under a key derived from the group', () => {
    expect(pagerdutyEvent(group(), URL, KEY)).toEqual({
      routing_key: 'k',
      event_action: 'trigger',
      // As Alertmanager computes it: the SHA-256 of the group's key.
      dedup_key: '3b407fbb9bb40fc81048d10ac747a7417f987fe8636e8d719c0738e9309d35f9',
      client: 'nestwatch',
      client_url: URL,
      payload: {
        summary:
          'Translate blog failed · Translation failed: the provider answered 429 Too Many Requests · EU · Marketing · since 2 Jul 2026, 11:56 UTC, for 4 min',
        source: 'watch.example.com',
        severity: 'critical',
        timestamp: '2026-07-02T12:00:00.000Z',
        group: 'Marketing',
        class: 'FlightFailed',
        custom_details: {
          firing: 1,
          resolved: 0,
          alerts: [
            `${WORDS.FlightFailed.firing}: EU / Marketing / Translate blog: Translation failed: the provider answered 429 Too Many Requests · Flight 5f0c9a52-0000-4000-8000-000000000004`,
          ],
        },
      },
      links: [
        { href: `${URL}/alerts/FlightFailed/93f7e433/eu/bird/148890`, text: 'See it in nestwatch' },
        { href: `${URL}/silence?alert=FlightFailed/93f7e433/eu/bird/148890`, text: 'Silence' },
      ],
    });
  });

  test('says of each alert why it fires now and who can act', () => {
    const annotations = {
      changed_before: 'published 3 s before',
      who_acts: 'to act: an editor',
      team: 'ops',
    };
    const alerts = ['Sync 30', 'Sync 31'].map((bird) =>
      alert({ labels: { ...alert().labels, bird }, annotations }),
    );
    const { custom_details: details } = pagerdutyEvent(group({ alerts }), URL, KEY).payload;
    for (const line of details.alerts) expect(line).toMatch(/ · published 3 s before · to act: an editor$/);
  });

  test('gives the reason in the summary if there is no message', () => {
    const description = 'Not landed by 07:00 (Amsterdam). It did not start.';
    const labels = { ...alert().labels, alertname: 'FlightOverdue' };
    const late = alert({ labels, annotations: { summary: 'Overdue', description }, events: [] });
    const { summary } = pagerdutyEvent(group({ alerts: [late] }), URL, KEY).payload;
    expect(summary).toBe(
      `Overdue: Translate blog · ${description} · EU · Marketing · since 2 Jul 2026, 11:56 UTC, for 4 min`,
    );
  });

  test('resolves it under the same key', () => {
    const over = group({ alerts: [alert({ status: 'resolved', endsAtUs: NOW_US })] });
    const [first, last] = [pagerdutyEvent(group(), URL, KEY), pagerdutyEvent(over, URL, KEY)];
    expect(last.event_action).toBe('resolve');
    expect(last.dedup_key).toBe(first.dedup_key);
  });

  test.each([
    [['critical'], 'critical'],
    [['warning', 'info'], 'warning'],
    [['info'], 'info'],
    [['none'], 'info'],
    [['page'], 'critical'],
    [['Warning'], 'warning'],
    [['sev1'], 'error'],
    [['info', 'error'], 'error'],
  ])('alerts of severity %j are %s', (severities, expected) => {
    const alerts = severities.map((severity) => alert({ labels: { ...alert().labels, severity } }));
    expect(pagerdutyEvent(group({ alerts }), URL, KEY).payload.severity).toBe(expected);
    const fixed = pagerdutyEvent(group({ alerts }), URL, { ...KEY, severity: 'info' });
    expect(fixed.payload.severity).toBe('info');
  });

  test('only open alerts count for the severity', () => {
    const over = alert({ status: 'resolved', endsAtUs: NOW_US });
    const open = alert({ labels: { ...alert().labels, severity: 'warning' } });
    expect(pagerdutyEvent(group({ alerts: [over, open] }), URL, KEY).payload.severity).toBe('warning');
  });

  test.each([PAGERDUTY_LIMITS.summary - 1, PAGERDUTY_LIMITS.summary, PAGERDUTY_LIMITS.summary + 1])(
    'a summary of %i characters',
    (length) => {
      const { summary } = pagerdutyEvent(group(), URL, KEY, 'x'.repeat(length)).payload;
      expect(summary).toHaveLength(Math.min(length, PAGERDUTY_LIMITS.summary));
      expect(summary.endsWith('…')).toBe(length > PAGERDUTY_LIMITS.summary);
    },
  );
});

describe('a push to Alertmanager', () => {
  test('says that what fires ends unless it is repeated, and when the rest ended', () => {
    const over = alert({ status: 'resolved', endsAtUs: NOW_US - MINUTE_US });
    const [first, second] = pushedAlerts([alert(), over], URL, NOW_US);
    expect(first).toEqual({
      labels: alert().labels,
      annotations: alert().annotations,
      startsAt: formatInstant(NOW_US - 4 * MINUTE_US),
      endsAt: formatInstant(NOW_US + ENDS_AFTER_US),
      generatorURL: `${URL}/alerts/FlightFailed/93f7e433/eu/bird/148890`,
    });
    expect(second!.endsAt).toBe(formatInstant(NOW_US - MINUTE_US));
    // Before Alertmanager's own `resolve_timeout`.
    expect(ENDS_AFTER_US).toBeLessThan(5 * MINUTE_US);
  });

  test('never gives an end before the beginning, even if our clock is slow', () => {
    const [pushed] = pushedAlerts([alert({ startsAtUs: NOW_US + 10 * MINUTE_US })], URL, NOW_US);
    expect(pushed).toMatchObject({
      startsAt: formatInstant(NOW_US + 10 * MINUTE_US),
      endsAt: formatInstant(NOW_US + 10 * MINUTE_US + ENDS_AFTER_US),
    });
  });

  test('omits what Alertmanager refuses', () => {
    const [pushed] = pushedAlerts([alert({ labels: { a: '', b: 'half \uD83D', '': 'x' } })], URL, NOW_US);
    expect(pushed!.labels).toEqual({ b: 'half \uFFFD' });
  });
});

describe("templates' variables", () => {
  test('are those that templates are checked with', () => {
    const real = templateVariables(group(), URL);
    expect(Object.keys(real)).toEqual(Object.keys(SAMPLE_VARIABLES));
    const [error, { description }] = [
      (SAMPLE_VARIABLES.alerts[0] as ReturnType<typeof alert>).labels.error,
      SAMPLE_VARIABLES.commonAnnotations as { description: string },
    ];
    expect(error).toBe(signature(description));
    expect(Object.keys(SAMPLE_VARIABLES.alerts[0]!)).toEqual(
      Object.keys(alertmanagerBody(group(), URL, 0).alerts[0]!),
    );
    expect(real).toMatchObject({
      title: 'Translate blog failed',
      status: 'firing',
      firing: [{}],
      resolved: [],
    });
  });

  test.each(LONG.map((text) => [text.slice(0, 30), text] as const))('are clean and capped: %j', (_, text) => {
    const json = JSON.stringify(templateVariables(saying(text), URL));
    expect(json).not.toMatch(/[\u202E\u2066\u200F]|\\u0000|\\ud[89a-f]/i);
    expect(json.length).toBeLessThan(200_000);
  });
});

describe('bounds', () => {
  test('no escape and no pair is split, and nothing that fits is cut', () => {
    const text = fc.string({ unit: fc.constantFrom('&', '<', 'a', '😀'), maxLength: 60 });
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 120 }), (one, max) => {
        const whole = [...one].map(escapeSlack).join('');
        const cut = escapedWithin(one, max, escapeSlack);
        expect(cut.length).toBeLessThanOrEqual(max);
        expect(cut.isWellFormed()).toBe(true);
        if (whole.length <= max) expect(cut).toBe(whole);
        else expect(whole.startsWith(cut.slice(0, -1)) && cut.endsWith('…')).toBe(true);
        expect(cut.replaceAll(/&(?:amp|lt);/g, '')).not.toContain('&');
      }),
    );
    expect(within('abcd', 4)).toBe('abcd');
    expect(within('abcde', 4)).toBe('abc…');
  });

  test('a list says what is omitted, within its limits', () => {
    const rest = (count: number) => `+${count}`;
    expect(listWithin(['a', 'b', 'c'], 3, 100, rest)).toEqual(['a', 'b', 'c']);
    expect(listWithin(['a', 'b', 'c', 'd'], 3, 100, rest)).toEqual(['a', 'b', '+2']);
    expect(listWithin(['a', 'b', 'c'], 3, 12, rest)).toEqual(['a', 'b', 'c']);
    expect(listWithin(['a', 'b', 'c'], 3, 11, rest)).toEqual(['a', '+2']);
    expect(listWithin([], 3, 11, rest)).toEqual([]);
  });
});
