import { describe, expect, test } from 'vitest';
import type { MailTemplates } from '../../../src/channels/email/mail-extras.ts';
import { mailMessage } from '../../../src/channels/email/mail-message.ts';
import { MAX_PART_BYTES } from '../../../src/channels/message/bounded.ts';
import { compileTemplate, type TemplateUse } from '../../../src/templates/liquid.ts';
import { SAMPLE_VARIABLES } from '../../../src/templates/variables.ts';
import { alert, failedFlight, group, labelled } from '../sample-notifications.ts';

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
  'x'.repeat(2_000_000),
  '\u{1F600}</pre>&'.repeat(100_000),
];

describe('a mail with hostile text', () => {
  /** Every text from outside is this one. */
  function saying(text: string, others: number) {
    const words = { message: text, bird: text, type: text, attributes: { step_id: text, flight_id: text } };
    const one = (position: number) =>
      alert({
        labels: {
          ...{ alertname: text, severity: text, region: text, nest: text, bird: `${position}${text}` },
          ...{ bird_id: String(position), error: `${position}${text}`, [text.slice(0, 50)]: text },
        },
        annotations: {
          ...{ summary: text, description: text, flapping: text, runbook_url: text },
          [`x${text.slice(0, 50)}`]: text,
        },
        history: ['failed', 'succeeded'],
        events: [failedFlight(1, words), failedFlight(2)],
      });
    return group({
      receiver: text,
      groupLabels: { alertname: text, region: text, nest: text, bird: text },
      notices: [text],
      alerts: Array.from({ length: others + 1 }, (_, position) => one(position)),
    });
  }

  test.each(HOSTILE.map((text) => [text.slice(0, 40), text]))('%j stays text [long]', (_start, text) => {
    for (const notification of [saying(text, 0), saying(text, 30)]) {
      const { subject, text: plain, html } = mailMessage(notification, URL, undefined);
      expect(subject).not.toMatch(/[\r\n]/);
      expect(subject.length).toBeLessThan(500);
      const tags = new Set([...html.matchAll(/<\/?([a-z0-9]+)/gi)].map(([, name]) => name));
      const ours = ['html', 'head', 'meta', 'title', 'style', 'body', 'div', 'h1', 'h2', 'p', 'pre', 'table'];
      expect([...ours, 'tr', 'td', 'a', 'strong', 'span', 'br', 'ul', 'li']).toEqual(
        expect.arrayContaining([...tags]),
      );
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

describe('a mail with more notices than fit', () => {
  const notices = Array.from({ length: 12 }, (_, index) => `${index} ${`"&<'`.repeat(200)}`);
  const hostile = '"'.repeat(3_000);
  const names = ['alertname', 'severity', 'region', 'nest', 'bird', 'team', 'nest_id'];
  const entity = ['entity_name', 'entity_id', 'entity_type'];
  const labels = Object.fromEntries([...names, ...entity].map((name) => [name, hostile]));
  const annotations = {
    ...{ summary: hostile, description: hostile, flapping: hostile },
    ...Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`${index}${hostile}`, hostile])),
    runbook_url: `https://x/?${'&'.repeat(480)}`,
  };
  const message = Array.from({ length: 20 }, () => hostile).join('\n');
  const one = alert({ labels, annotations, events: [failedFlight(1, { message, bird: hostile })] });

  test.each([1, 2, 30])('stays under 30 kB with %i hostile alerts', (count) => {
    const alerts = Array.from({ length: count }, (_, index) =>
      alert({ ...one, labels: { ...one.labels, bird_id: String(index), error: `${index}${hostile}` } }),
    );
    const page = `https://x/${'&'.repeat(450)}`;
    const mail = mailMessage(group({ alerts, notices, receiver: hostile }), page, undefined);
    for (const part of [mail.text, mail.html]) {
      expect(Buffer.byteLength(part)).toBeLessThan(30_000);
    }
    expect(mail.html).toContain('more notices');
    expect(mail.html).toMatch(/<\/body><\/html>\n$/);
  });

  test('shows all that fit', () => {
    const few = Array.from({ length: 12 }, (_, at) => `Notice ${at} of twelve, which is a plain sentence.`);
    const mail = mailMessage(group({ notices: few }), URL, undefined);
    for (const part of [mail.text, mail.html]) {
      for (const notice of few) expect(part).toContain(notice);
      expect(part).not.toContain('more notices');
    }
  });
});

test('a mail about several alerts says how many more it has no links to', () => {
  const firing = (count: number, filler: string) =>
    group({
      firingTotal: count,
      alerts: Array.from({ length: count }, (_, at) => {
        const error = String.fromCharCode(97 + at).repeat(3);
        const acknowledgeUrl = `${URL}/acknowledge?link=${'l'.repeat(400)}`;
        const labels = { ...alert().labels, bird: `Bird ${at}`, bird_id: String(at), error };
        const events = [1, 2, 3, 4, 5].map((flight) =>
          failedFlight(flight, { message: `${error} ${filler}` }),
        );
        return alert({ id: `${at}/${'i'.repeat(420)}`, labels, acknowledgeUrl, events });
      }),
    });
  const end = (notification: Parameters<typeof mailMessage>[0]) => {
    const { html, text } = mailMessage(notification, URL, undefined);
    const acknowledged = [html.match(/>Acknowledge</g), text.match(/ Acknowledge: /g)].map(
      (all) => all?.length,
    );
    const said = [html, text].map((part) => /Each by itself.*?(… and \d+ more alerts)/s.exec(part)?.[1]);
    return { acknowledged, said };
  };
  expect(end(firing(6, ''))).toEqual({ acknowledged: [6, 6], said: [undefined, undefined] });
  const [two, four] = ['… and 2 more alerts', '… and 4 more alerts'];
  expect(end(firing(8, ''))).toEqual({ acknowledged: [6, 6], said: [two, two] });
  expect(end(firing(8, '"'.repeat(300)))).toEqual({ acknowledged: [4, 6], said: [four, two] });
});

describe('a mail with templates', () => {
  test('has the notices after them', () => {
    const notices = ['8 notifications were held back <b>', 'Second notice.'];
    const html = '<html><body><p>own</p></body></html>';
    const templates = { text: liquid('own text'), html: liquid(html, 'html') };
    const mail = message(templates, group({ notices }));
    expect(mail.text).toBe('own text\n\n8 notifications were held back <b>\nSecond notice.\n');
    expect(mail.html).toMatch(
      /^<html><body><p>own<\/p>\n<p[^>]*>8 notifications were held back &lt;b&gt;<\/p>\n<p[^>]*>Second notice\.<\/p>\n<\/body><\/html>$/,
    );
    expect(message({ html: liquid('<p>own</p>', 'html') }, group({ notices })).html).toMatch(
      /^<p>own<\/p>\n<p[^>]*>8 .*<\/p>\n<p[^>]*>Second notice\.<\/p>\n$/,
    );
    expect(message(templates)).toMatchObject({ text: 'own text', html });
  });

  test('has each notice once if they show them', () => {
    const notices = ["8 notifications weren't told <b>"];
    const show = '{% for one in notices %}{{ one }}{% endfor %}';
    const mail = message({ text: liquid(show), html: liquid(show, 'html') }, group({ notices }));
    expect(mail.text).toBe("8 notifications weren't told <b>");
    expect(mail.html).toBe('8 notifications weren&#39;t told &lt;b&gt;');
  });

  test('has a notice about those that failed', () => {
    const subject = liquid('{{ commonLabels.nobody }}');
    const mail = message({ subject, text: liquid('own'), html: liquid('own', 'html') });
    for (const part of [mail.text, mail.html])
      expect(part).toMatch(/^own\n[\s\S]*The template subject failed/);
  });

  test('is the built-in one if there is no room for the notices', () => {
    const html = liquid('x'.repeat(MAX_PART_BYTES - 10), 'html');
    const mail = message({ html }, group({ notices: ['8 notifications were held back'] }));
    expect(mail.html).toMatch(/^<!doctype/);
    expect(mail.html).toContain('8 notifications were held back');
    expect(Buffer.byteLength(mail.html)).toBeLessThan(30_000);
  });

  test('does not become too large because of a notice about a part that was [long]', () => {
    for (const room of [400, 200, 100, 50, 10, 0]) {
      const text = liquid('x'.repeat(MAX_PART_BYTES - room));
      const html = liquid('y'.repeat(2 * MAX_PART_BYTES), 'html');
      const mail = message({ text, html });
      expect(Buffer.byteLength(mail.text), `${room}`).toBeLessThanOrEqual(MAX_PART_BYTES);
      expect(Buffer.byteLength(mail.html), `${room}`).toBeLessThanOrEqual(MAX_PART_BYTES);
      for (const part of [mail.text, mail.html]) expect(part).toContain('The template html made more than');
      expect(mail.text.includes('xxx')).toBe(room >= 100);
    }
  });

  test('says what they say, and the rest as usual', () => {
    const mail = message({
      subject: liquid('{{ status | upcase }} {{ commonLabels.bird }}'),
      html: liquid('<p>{{ title }}</p>', 'html'),
      headers: { 'X-Team': liquid('{{ receiver }}') },
    });
    expect(mail).toMatchObject({
      subject: 'FIRING Translate blog',
      html: '<p>Translate blog failed</p>',
      headers: { 'X-Team': 'ops' },
    });
    expect(mail.text?.split('\n')[0]).toBe('Translate blog failed');
    expect(mail.templateError).toBeUndefined();
  });

  test('takes no header or markup from hostile text', () => {
    const bad = 'x\r\nBcc: victim@example.com\r\n<script>alert(1)</script>\u202E';
    const one = labelled({ bird: bad }, { events: [failedFlight(1, { message: bad, bird: bad })] });
    const notification = group({ groupLabels: { bird: bad }, alerts: [one] });
    const text = liquid('{{ commonLabels.bird }}{{ message }}');
    const html = liquid('<p>{{ message }}{{ alerts[0].labels.bird }}</p>', 'html');
    const mail = message({ subject: text, headers: { 'X-Bird': text }, html }, notification);
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
        expect(body).toContain('Translate blog failed');
        expect(body).toContain(`The template ${part} failed`);
      }
    },
  );

  test.each([
    [MAX_PART_BYTES, undefined],
    [MAX_PART_BYTES + 1, 'The template html made more than 30000 bytes. The built-in text is used instead.'],
  ])('whose HTML has %i bytes', (bytes, templateError) => {
    const mail = message({ html: liquid('x'.repeat(bytes), 'html') });
    expect(mail.templateError).toBe(templateError);
    expect(mail.html.startsWith('xxx')).toBe(templateError === undefined);
  });

  test('an empty subject or header is not sent', () => {
    const empty = liquid('{% if resolved.size > 0 %}x{% endif %}');
    const mail = message({ subject: empty, headers: { 'X-Empty': empty } });
    expect(mail.subject).toBe('✕ Translate blog failed · EU Marketing');
    expect(mail.headers).toEqual({});
  });
});
