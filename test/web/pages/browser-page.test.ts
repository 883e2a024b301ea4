import { describe, expect, test } from 'vitest';
import { secret } from '../../../src/secret.ts';
import { ANYBODY } from '../../../src/web/access/identify.ts';
import { createBrowser } from '../../channels/browser/sample-browser.ts';
import { type ServeOptions, serve } from '../served.ts';
import { read } from './read.ts';

const FIREFOX = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0' };
const ENDPOINT = 'https://updates.push.services.mozilla.com/wpush/v2/cAnArY';
const BROWSERS = {
  publicKey: 'BPublic',
  receivers: new Map([
    ['me', []],
    ['<b>', ['push.example.com']],
  ]),
};
const FIELDS = { receiver: 'me', endpoint: ENDPOINT, ...createBrowser().keys };

const served = (more: ServeOptions = {}) => serve({ browsers: BROWSERS, ...more });
const kept = ({ store }: Awaited<ReturnType<typeof serve>>) => store.transaction((tx) => tx.browsers.list());

describe('the page of notifications in browsers', () => {
  test('subscribes a browser, shows it, and removes it', async () => {
    const web = await served();
    const { ask, submit, clock } = web;
    expect(await submit('/notifications', FIELDS, FIREFOX)).toMatchObject({
      status: 303,
      headers: { location: 'notifications' },
    });
    expect(await kept(web)).toEqual([
      {
        ...FIELDS,
        id: expect.stringMatching(/^[0-9a-f]{64}$/),
        person: '',
        name: 'Firefox on Linux',
        subscribedAtUs: clock.nowUs(),
      },
    ]);
    const { body } = await ask('/notifications');
    expect(read(body)).toContain('Firefox on Linux');
    expect(body).not.toContain('cAnArY');
    const id = (await kept(web))[0]!.id;
    await submit('/notifications/remove', { receiver: 'me', id });
    expect(await kept(web)).toEqual([]);
  });

  test('a browser that subscribes again is one', async () => {
    const web = await served();
    for (const receiver of ['me', 'me', '<b>']) await submit(web, { receiver });
    expect((await kept(web)).map(({ receiver }) => receiver).sort()).toEqual(['<b>', 'me']);
  });

  test.each([
    ['https://127.0.0.1:9465/-/reload', '127.0.0.1:9465'],
    ['https://169.254.169.254/latest', '169.254.169.254'],
    ['https://push.example.com/x', 'push.example.com'],
    ['nonsense', 'no known address'],
  ])('does not let messages be sent to %s', async (endpoint, host) => {
    const web = await served();
    const { status, body } = await submit(web, { endpoint });
    expect(status).toBe(400);
    expect(read(body)).toContain(`${host}, which is not a known push service`);
    expect(await kept(web)).toEqual([]);
  });

  test.each([
    ['a key that is no point of the curve', { p256dh: `B${'A'.repeat(86)}` }, 'keys that cannot be used'],
    ['a secret that is too short', { auth: 'AAAA' }, 'keys that cannot be used'],
    ['a push service without TLS', { endpoint: ENDPOINT.replace('https', 'http') }, 'without https'],
    ['a receiver that tells no browsers', { receiver: 'ops' }, 'no receiver of this name with'],
  ])('refuses %s', async (_, fields, sentence) => {
    const web = await served();
    const { status, body } = await submit(web, fields);
    expect([status, read(body).includes(sentence)]).toEqual([400, true]);
    expect(await kept(web)).toEqual([]);
  });

  test('shows and removes only what the same person subscribed', async () => {
    const users = new Map(
      ['anna', 'ben'].map((name) => [name, { hash: secret('x'), scopes: ANYBODY.scopes }] as const),
    );
    const proxy = { header: 'x-user', isTrusted: () => true, scopes: ANYBODY.scopes };
    const web = await served({ web: { access: { tokens: [], users, proxy } } });
    const as = (name: string) => ({ 'x-user': name, ...FIREFOX });
    await web.submit('/notifications', FIELDS, as('anna'));
    const id = (await kept(web))[0]!.id;
    expect(read((await web.ask('/notifications', as('ben'))).body)).not.toContain('Firefox on Linux');
    await web.submit('/notifications/remove', { receiver: 'me', id }, as('ben'));
    expect((await kept(web)).map(({ person }) => person)).toEqual(['anna']);
    await web.submit('/notifications/remove', { receiver: 'me', id }, as('anna'));
    expect(await kept(web)).toEqual([]);
  });

  test('shows and removes a subscription to a receiver that the configuration no longer has', async () => {
    const web = await served();
    await submit(web, {});
    const [own] = await kept(web);
    await web.store.transaction((tx) => tx.browsers.put({ ...own!, receiver: 'former' }));
    const shown = read((await web.ask('/notifications')).body);
    expect(shown).toContain('Firefox on Linux: former');
    expect(shown.match(/no such receiver/g)).toHaveLength(1);
    await web.submit('/notifications/remove', { receiver: 'former', id: own!.id });
    expect(await kept(web)).toEqual([own]);
  });

  test('where a browser has its messages sent is not recorded', async () => {
    const web = await served();
    await submit(web, {});
    const { writes } = await web.store.transaction((tx) => tx.writes.page({ limit: 9 }));
    expect(writes).toMatchObject([{ action: 'POST /notifications', asked: '' }]);
    expect(JSON.stringify(web.reported)).not.toContain('cAnArY');
  });

  test('says without a script what needs one, and without a receiver what to do', async () => {
    const { ask } = await served();
    const { body, headers } = await ask('/notifications');
    expect(body).toContain(
      '<noscript><p class="notice">A browser can be subscribed only with JavaScript turned on.',
    );
    expect(headers['content-security-policy']).toContain("worker-src 'self'");
    expect(body).toContain('<option value="&lt;b&gt;">&lt;b&gt;</option>');
    const without = await serve();
    expect(read((await without.ask('/notifications')).body)).toContain('No receiver has');
    expect((await ask('/')).body).toContain('href="notifications"');
  });
});

function submit({ submit: send }: Awaited<ReturnType<typeof serve>>, fields: Partial<typeof FIELDS>) {
  return send('/notifications', { ...FIELDS, ...fields }, FIREFOX);
}
