import { once } from 'node:events';
import { connect } from 'node:net';
import { createTransport } from 'nodemailer';
import { expect, onTestFinished, test } from 'vitest';
import { type CaughtMail, openCatcher } from '../../../src/cli/demo/demo-catcher.ts';

async function setUp() {
  const seen: CaughtMail[] = [];
  const catcher = await openCatcher((mail) => seen.push(mail));
  onTestFinished(() => catcher.close());
  const [host, port] = catcher.smarthost.split(':');
  const mailer = createTransport({ host, port: Number(port) });
  const send = (subject: string, text: string) =>
    mailer.sendMail({ from: 'n@example.com', to: 'ops@example.com', subject, text, html: `<p>${text}</p>` });
  const page = async (path = '/') => (await fetch(catcher.url + path)).text();
  return { catcher, seen, send, page };
}

test('the page lists the mails, the newest first, with their first lines, and shows each [long]', async () => {
  const { seen, send, page } = await setUp();
  expect(await page()).toContain('None yet');
  await send('[nestwatch] EU: FlightFailed', 'Flight failed: Translate blog\nEU');
  await send('Re: [nestwatch] EU: FlightFailed', 'Recovered: Translate blog');
  expect(seen.map(({ subject }) => subject)).toEqual([
    '[nestwatch] EU: FlightFailed',
    'Re: [nestwatch] EU: FlightFailed',
  ]);
  const list = await page();
  expect(list).toContain('<h2>2 mails</h2>');
  expect(
    [...list.matchAll(/href="\/(\d+)">(.*?)<\/a>\s*<div class="soft small">(.*?)<\/div>/g)].map((one) =>
      one.slice(1),
    ),
  ).toEqual([
    ['2', 'Re: [nestwatch] EU: FlightFailed', 'Recovered: Translate blog'],
    ['1', '[nestwatch] EU: FlightFailed', 'Flight failed: Translate blog'],
  ]);
  expect(await page('/2')).toContain('<p>Recovered: Translate blog</p>');
});

test('fits a phone, and nothing in a mail can run or load', async () => {
  const { catcher, send, page } = await setUp();
  await send('<script>alert(1)</script>', '<b>bold</b>');
  const list = await page();
  expect(list).toContain('<meta name="viewport" content="width=device-width, initial-scale=1">');
  expect(list).not.toMatch(/<script>alert|<b>bold/);
  expect((await fetch(`${catcher.url}/1`)).headers.get('content-security-policy')).toBe(
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox",
  );
});

test('counts webhooks and the events in batches, including repetitions, but not a call repeated under its id', async () => {
  const { catcher } = await setUp();
  const post = (id: string, type: string, body: unknown) =>
    fetch(catcher.url, {
      method: 'POST',
      headers: { 'webhook-id': id, 'content-type': type },
      body: JSON.stringify(body),
    });
  expect((await post('w1', 'application/json', {})).status).toBe(204);
  await post('w2', 'application/cloudevents-batch+json', [{ id: 'eu/flight/a/failed' }, { id: 'b' }]);
  await post('w2', 'application/cloudevents-batch+json', [{ id: 'b' }]);
  await post('w3', 'application/cloudevents-batch+json', [{ id: 'b' }]);
  expect(catcher.caught).toMatchObject({
    webhooks: ['w1', 'w2', 'w3'],
    webhooksAgain: 1,
    eventKeys: ['eu/flight/a/failed', 'b', 'b'],
  });
});

test('a client that breaks off, or sends what is no JSON, does not end the demo', async () => {
  const { catcher } = await setUp();
  const client = connect(Number(new URL(catcher.url).port), '127.0.0.1');
  client.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{');
  await once(client, 'connect');
  client.destroy();
  const headers = { 'content-type': 'application/cloudevents-batch+json' };
  await expect(fetch(catcher.url, { method: 'POST', headers, body: '{' })).rejects.toThrow();
  expect(catcher.caught.eventKeys).toEqual([]);
});
