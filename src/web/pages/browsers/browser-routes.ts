/** Serves the page on which people subscribe their browsers to receivers, and what a browser needs for that. */
import { createHash, ECDH } from 'node:crypto';
import type { Context, Hono } from 'hono';
import { html, raw } from 'hono/html';
import { isPushEndpoint, type SubscribedBrowser } from '../../../domain/grouping/subscribed-browser.ts';
import { LIMITS } from '../../../limits.ts';
import { plainText } from '../../../text/plain-text.ts';
import { signedBy } from '../../access/identify.ts';
import { refuse } from '../../requests/query.ts';
import type { BrowserOptions, PagesOptions } from '../../web-options.ts';
import { fieldsOf, problemOf } from '../frame/form.ts';
import { type Html, type Page, pageOf } from '../frame/page.ts';
import { marked, titledPage, when } from '../frame/page-frame.ts';
import { NAME_LENGTH } from '../frame/page-words.ts';
import type { Words } from '../frame/words.ts';
import { SERVICE_WORKER, SUBSCRIBE_SCRIPT } from './browser-script.ts';

export function addBrowsers(
  pages: Hono,
  { store, clock, browsers }: Pick<PagesOptions, 'store' | 'clock' | 'browsers'>,
): void {
  const { receivers } = browsers;

  const personOf = (c: Context) => signedBy(c.get('identity'), '');

  async function show(c: Context, problem: string): Promise<Response> {
    const person = personOf(c);
    const all = await store.transaction((tx) => tx.browsers.list());
    const own = all.filter((one) => one.person === person);
    const page = pageOf(c, clock);
    return c.html(renderBrowsers(page, browsers, own, problem), problem ? 400 : 200);
  }

  /** Throws `usage` for what no browser sends. */
  function subscriptionOf(c: Context, { mistakes }: Words, fields: URLSearchParams): SubscribedBrowser {
    const [receiver, endpoint, p256dh, auth] = ['receiver', 'endpoint', 'p256dh', 'auth'].map(
      (name) => fields.get(name) ?? '',
    ) as [string, string, string, string];
    const services = receivers.get(receiver);
    if (!services) throw refuse(mistakes.noBrowserReceiver);
    const host = plainText(URL.parse(endpoint)?.host ?? '', NAME_LENGTH);
    if (endpoint.startsWith('http:')) throw refuse(mistakes.pushInsecure);
    if (!isPushEndpoint(endpoint, services)) throw refuse(mistakes.pushService(host));
    if (!isPoint(p256dh) || !/^[\w-]{22}$/.test(auth)) throw refuse(mistakes.pushKeys);
    return {
      ...{ receiver, endpoint, p256dh, auth, person: personOf(c), subscribedAtUs: clock.nowUs() },
      id: createHash('sha256').update(endpoint).digest('hex'),
      name: browserName(c.req.header('user-agent') ?? ''),
    };
  }

  pages.get('/notifications', (c) => show(c, ''));

  pages.post('/notifications', async (c) => {
    const { words } = pageOf(c, clock);
    const fields = await fieldsOf(c);
    const problem = await problemOf(words, async () => {
      const browser = subscriptionOf(c, words, fields);
      const { most } = LIMITS.subscribed_browsers;
      await store.transaction(async (tx) => {
        const others = (await tx.browsers.list()).filter(
          ({ person, receiver, id }) =>
            person === browser.person && !(receiver === browser.receiver && id === browser.id),
        );
        if (others.length >= most) throw refuse(words.mistakes.manyBrowsers(most));
        await tx.browsers.put(browser);
      });
    });
    return problem === '' ? c.redirect('notifications', 303) : show(c, problem);
  });

  pages.post('/notifications/remove', async (c) => {
    const fields = await fieldsOf(c);
    const [receiver, id] = [fields.get('receiver') ?? '', fields.get('id') ?? ''];
    await store.transaction(async (tx) => {
      const found = (await tx.browsers.list()).find((one) => one.receiver === receiver && one.id === id);
      if (found?.person === personOf(c)) await tx.browsers.delete(receiver, [id]);
    });
    return c.redirect('../notifications', 303);
  });

  pages.get('/service-worker.js', (c) => c.body(SERVICE_WORKER, 200, { 'content-type': 'text/javascript' }));
}

/** Whether it is a public key on the curve that Web Push uses (RFC 8291, 3.1). */
function isPoint(p256dh: string): boolean {
  try {
    return /^[\w-]{87}$/.test(p256dh) && ECDH.convertKey(p256dh, 'prime256v1', 'base64url').length > 0;
  } catch {
    return false;
  }
}

/** The first that fits: most browsers also name those that they descend from. */
function browserName(userAgent: string): string {
  const of = (names: readonly string[]) =>
    names.find((name) => userAgent.includes(name.replace('Edge', 'Edg/')));
  const browser = of(['Edge', 'Firefox', 'Chrome', 'Safari']) ?? 'Browser';
  return `${browser} on ${of(['Android', 'iPhone', 'iPad', 'Windows', 'Mac OS', 'Linux']) ?? 'another system'}`;
}

/** `own`: those of the reader. */
function renderBrowsers(
  page: Page,
  browsers: BrowserOptions,
  own: readonly SubscribedBrowser[],
  problem: string,
): Html {
  const { receivers } = browsers;
  const words = page.words.browsers;
  return titledPage(page, {
    ...{ title: words.title, lead: words.lead, problem, isNarrow: true },
    main: html`<noscript><p class="notice">${words.noScript}</p></noscript>
${Object.entries(words.cannot).map(([why, text]) => html`<p class="notice" role="alert" data-cannot="${why}" hidden>${text}</p>`)}
${own.length === 0 ? '' : html`<ul class="sheet" id="browsers">${own.map((one) => browserItem(page, one, receivers.has(one.receiver)))}</ul>`}
${receivers.size === 0 ? html`<p class="sheet empty">${marked(words.noReceiver)}</p>` : subscribeForm(page, browsers)}
<script>${raw(SUBSCRIBE_SCRIPT)}</script>`,
  });
}

/** `isTold`: whether the configuration still has its receiver. */
function browserItem(
  page: Page,
  { id, receiver, name, subscribedAtUs }: SubscribedBrowser,
  isTold: boolean,
): Html {
  const words = page.words.browsers;
  return html`<li data-browser="${id}"><div class="row"><div>${name}: <bdi>${plainText(receiver, NAME_LENGTH)}</bdi> <span class="pill good" hidden>${words.thisOne}</span>${isTold ? '' : html` <span class="pill warn">${words.noSuch}</span>`}
<span class="small soft">${words.since} ${when(page, subscribedAtUs)}</span></div>
<form method="post" action="${page.root}notifications/remove"><input type="hidden" name="receiver" value="${receiver}"><input type="hidden" name="id" value="${id}">
<button class="small" aria-label="${words.removeThat(name, receiver)}">${words.remove}</button></form></div></li>`;
}

/** The script shows and completes it. */
function subscribeForm({ root, words }: Page, { publicKey, receivers }: BrowserOptions): Html {
  const fields = ['endpoint', 'p256dh', 'auth'].map((name) => html`<input type="hidden" name="${name}">`);
  const choices = [...receivers.keys()].map(
    (name) => html`<option value="${name}">${plainText(name, NAME_LENGTH)}</option>`,
  );
  return html`<form method="post" action="${root}notifications" class="sheet fields" id="subscribe" data-root="${root || './'}" data-key="${publicKey}" hidden>${fields}
<label for="receiver">${words.browsers.receiver}</label><select id="receiver" name="receiver">${choices}</select>
<p class="small soft">${words.browsers.help}</p><div class="buttons"><button class="main">${words.browsers.subscribe}</button> <a class="button" href="${root}deliveries#test">${words.deliveries.sendTest}</a></div></form>`;
}
