import { describe, expect, test } from 'vitest';
import type { MailTemplates } from '../../src/config/config.ts';
import { MAX_PART_BYTES } from '../../src/delivery/formats/fitting.ts';
import { mailMessage } from '../../src/delivery/formats/mail-message.ts';
import { compileTemplate, type TemplateUse } from '../../src/templates/liquid.ts';
import { SAMPLE_VARIABLES } from '../../src/templates/variables.ts';
import { alert, failedFlight, group } from './samples.ts';

const URL = 'https://watch.example.com';
const liquid = (text: string, use: TemplateUse = 'text') => compileTemplate(text, use, SAMPLE_VARIABLES);
const message = (templates: Partial<MailTemplates>, notification = group()) =>
  mailMessage(notification, URL, { headers: {}, ...templates });

const HOSTILE = [
  '<script>alert(1)</script>',
  '</title><img src=x onerror=alert(1)>" onmouseover="x',
  '<!channel> <!here|x> @everyone @channel',
  '\u202Eevil\u2066right-to-left\u200F',
  'half \uD83D pair \uDE00',
  '\0\u0007\r\n.\r\nBcc: victim@example.com\r\n\r\n',
  'x'.repeat(5_000_000),
  '\u{1F600}</pre>&'.repeat(300_000),
];

describe('a mail of hostile text', () => {
  /** Every text from outside is this one. */
  function saying(text: string, others: number) {
    const one = (position: number) =>
      alert({
        labels: {
          ...{ alertname: text, severity: text, region: text, nest: text, bird: `${position}${text}` },
          ...{ bird_id: String(position), error: `${position}${text}`, [text.slice(0, 50)]: text },
        },
        annotations: {
          summary: text,
          description: text,
          flapping: text,
          runbook_url: text,
          [`x${text.slice(0, 50)}`]: text,
        },
        history: ['failed', 'succeeded'],
        events: [
          failedFlight(1, {
            message: text,
            bird: text,
            type: text,
            attributes: { step_id: text, flight_id: text },
          }),
          failedFlight(2),
        ],
      });
    return group({
      receiver: text,
      groupLabels: { alertname: text, region: text, nest: text, bird: text },
      notices: [text],
      alerts: Array.from({ length: others + 1 }, (_, position) => one(position)),
    });
  }

  test.each(HOSTILE.map((text) => [text.slice(0, 40), text]))('%j stays text', (_start, text) => {
    for (const notification of [saying(text, 0), saying(text, 30)]) {
      const { subject, text: plain, html } = mailMessage(notification, URL, undefined);
      expect(subject).not.toMatch(/[\r\n]/);
      expect(subject.length).toBeLessThan(500);
      const tags = new Set([...html.matchAll(/<\/?([a-z0-9]+)/gi)].map(([, name]) => name));
      const ours = ['html', 'head', 'meta', 'title', 'style', 'body', 'div', 'h1', 'h2', 'p', 'pre', 'table'];
      expect([...ours, 'tr', 'td', 'a', 'strong', 'span', 'br']).toEqual(expect.arrayContaining([...tags]));
      expect(html.match(/<\/(title|style|body)>/g)).toHaveLength(3);
      expect(html).not.toMatch(/<[^>]*\son[a-z]+=/i);
      for (const part of [subject, plain, html]) {
        expect(part).not.toMatch(/[\u202A-\u202E\u2066-\u2069\u200F\r]/);
        for (const control of ['\0', '\u0007']) expect(part).not.toContain(control);
        expect(part.isWellFormed()).toBe(true);
        expect(Buffer.byteLength(part)).toBeLessThan(30_000);
      }
    }
  });
});

describe('a mail with templates', () => {
  test('says what they say, and the rest as always', () => {
    const mail = message({
      subject: liquid('{{ status | upcase }} {{ commonLabels.bird }}'),
      html: liquid('<p>{{ title }}</p>', 'html'),
      headers: { 'X-Team': liquid('{{ receiver }}') },
    });
    expect(mail).toMatchObject({
      subject: 'FIRING Translate blog',
      html: '<p>Flight failed: Translate blog</p>',
      headers: { 'X-Team': 'ops' },
    });
    expect(mail.text).toMatch(/^Flight failed: Translate blog\n/);
    expect(mail.templateError).toBeUndefined();
  });

  test('takes no header or markup from hostile text', () => {
    const bad = 'x\r\nBcc: victim@example.com\r\n<script>alert(1)</script>\u202E';
    const labels = { ...alert().labels, bird: bad };
    const notification = group({
      groupLabels: { bird: bad },
      alerts: [alert({ labels, events: [failedFlight(1, { message: bad, bird: bad })] })],
    });
    const text = liquid('{{ commonLabels.bird }}{{ message }}');
    const mail = message(
      {
        subject: text,
        headers: { 'X-Bird': text },
        html: liquid('<p>{{ message }}{{ alerts[0].labels.bird }}</p>', 'html'),
      },
      notification,
    );
    for (const line of [mail.subject, mail.headers['X-Bird']]) expect(line).not.toMatch(/[\r\n\u202E]/);
    expect(mail.html).not.toMatch(/<script|\u202E/);
  });

  test.each(['subject', 'text', 'html'] as const)(
    'whose %s fails is sent with the built-in one and a note',
    (part) => {
      const fails = liquid('{{ commonLabels.nobody }}', part === 'html' ? 'html' : 'text');
      const [plain, mail] = [mailMessage(group(), URL, undefined), message({ [part]: fails })];
      expect(mail.subject).toBe(plain.subject);
      expect(mail.templateError).toBe(
        `The template ${part} failed: undefined variable: commonLabels.nobody, line:1, col:4`,
      );
      for (const body of [mail.text, mail.html]) {
        expect(body).toContain('Flight failed: Translate blog');
        expect(body).toContain(`The template ${part} failed`);
      }
    },
  );

  test.each([
    [MAX_PART_BYTES, undefined],
    [
      MAX_PART_BYTES + 1,
      'The template html made more than 30000 bytes. The built-in text stands in its place.',
    ],
  ])('whose HTML has %i bytes', (bytes, templateError) => {
    const mail = message({ html: liquid('x'.repeat(bytes), 'html') });
    expect(mail.templateError).toBe(templateError);
    expect(mail.html.startsWith('xxx')).toBe(templateError === undefined);
  });

  test('an empty subject or header is not sent', () => {
    const empty = liquid('{% if resolved.size > 0 %}x{% endif %}');
    const mail = message({ subject: empty, headers: { 'X-Empty': empty } });
    expect(mail.subject).toBe('[nestwatch] EU · Marketing: FlightFailed');
    expect(mail.headers).toEqual({});
  });
});
